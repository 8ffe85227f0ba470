#!/usr/bin/env bash
# Kills the payment service (SIGKILL) at a random moment under traffic, starts it again, and checks
# that every payment is charged once, and that its event has come through the outbox and is on the account's
# statement once, in order; ten times, on servers that outlive it. The card gateway also charges each payment
# once, but a kill between a call and the completion of its key repeats the call: at most one per consumer
# thread. With --redis the keys of the gateway are in Redis, all others stay in PostgreSQL.
set -euo pipefail

readonly ROUNDS="${ROUNDS:-10}"
readonly PAYMENTS=2000
readonly PATIENCE="${PATIENCE:-90}"
# The concurrency of the listeners in application.yml.
readonly THREADS=3

case "${1:-}" in
	'') PROFILE= ;;
	--redis) PROFILE=redis ;;
	*)
		echo "Usage: $0 [--redis]" >&2
		exit 2
		;;
esac
readonly PROFILE

cd "$(dirname "$0")"
readonly JAR="$PWD/target/sample-payment-service.jar"
if [[ ! -f "$JAR" ]]; then
	echo "There is no $JAR. In the folder above, run: mvn -q -DskipTests package" >&2
	exit 1
fi

WORK="$(mktemp -d)"
servers=
service=
order=
backlog=

clean_up() {
	local status=$?
	for process in $order $service; do
		kill -KILL "$process" 2>/dev/null || true
	done
	# The servers stop by themselves: PostgreSQL and Redis are processes of theirs.
	if [[ -n "$servers" ]]; then
		kill -TERM "$servers" 2>/dev/null || true
		wait "$servers" 2>/dev/null || true
	fi
	if (( status == 0 )); then
		rm -rf "$WORK"
	else
		echo "The logs are in $WORK" >&2
	fi
	return "$status"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

fail() {
	echo "$1" >&2
	exit 1
}

# Polls a command until it succeeds.
await() {
	local what=$1 end=$((SECONDS + PATIENCE))
	shift
	until "$@"; do
		(( SECONDS < end )) || fail "$what: not within $PATIENCE s; pending: ${backlog:-unknown}"
		sleep 0.2
	done
}

get() {
	curl -sf --max-time 5 "http://127.0.0.1:$port$1"
}

ready() {
	kill -0 "$service" 2>/dev/null || fail "the service has ended; its last lines: $(tail -n 20 "$WORK/service.log")"
	get /actuator/health >/dev/null
}

# All payments are sent, the outbox is empty, and each consumer group has consumed all messages.
consumed() {
	backlog="$(get /api/backlog)" && [[ ! "$backlog" =~ :-?[1-9] ]]
}

free_port() {
	port=$((20000 + RANDOM % 10000))
	while (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
		port=$((20000 + RANDOM % 10000))
	done
}

start_service() {
	free_port
	java -jar "$JAR" --server.address=127.0.0.1 --server.port="$port" \
		--sample.gateway.url="http://127.0.0.1:$port" --sample.gateway.lease=5s --idempotency.lease=5s \
		--spring.profiles.active="$PROFILE" \
		--spring.config.additional-location="file:$WORK/servers.properties" >>"$WORK/service.log" 2>&1 &
	service=$!
	await "start of the service" ready
}

kill_service() {
	kill -KILL "$service"
	wait "$service" 2>/dev/null || true
	service=
}

# figure <object or ''> <name>: a figure of the summary.
figure() {
	local part="$summary"
	[[ -z "$1" ]] || part="${summary#*\"$1\":}"
	[[ "$part" == *"\"$2\":"* ]] || fail "the service does not report the figure ${1:+$1.}$2: $summary"
	part="${part#*\"$2\":}"
	echo "${part%%[,\}]*}"
}

# Each payment is in the ledger once.
charged_once() {
	[[ "$charges" == "$payments" && "$charged" == "$requested" ]]
}

# Each payment is on a statement once, with its charge in the ledger and in order.
stated_once() {
	[[ "$missing $unknown $doubled $out_of_order $dead_letters" == "0 0 0 0 0" ]] \
		&& [[ "$lines" == "$payments" && "$stated" == "$requested" ]]
}

# The gateway has charged each payment once, and each kill has repeated at most one call per thread.
gateway_charged_once() {
	[[ "$gateway" == "$payments" ]] && (( repeated >= 0 && repeated <= THREADS * round ))
}

java -jar "$JAR" servers --spring.profiles.active="$PROFILE" \
	--sample.servers.file="$WORK/servers.properties" >"$WORK/servers.log" 2>&1 &
servers=$!
await "start of the servers" test -f "$WORK/servers.properties"

start_service
for (( round = 1; round <= ROUNDS; round++ )); do
	curl -s --max-time 30 -o /dev/null -H 'Content-Type: application/json' \
		-d "{\"count\":$PAYMENTS,\"duplicateRate\":0.5}" "http://127.0.0.1:$port/api/payments" &
	order=$!
	delay="$(printf '%d.%03d' $((RANDOM % 3)) $((RANDOM % 800 + 200)))"
	sleep "$delay"
	at_kill="$(get /api/summary || echo '"protected":{"charges":unknown}')"
	kill_service
	wait "$order" 2>/dev/null || true
	order=

	start_service
	await "consumption" consumed
	after_kill="$(get /api/summary)"

	summary="$at_kill"
	charged_before="$(figure protected charges)"
	summary="$(get /api/reconciliation)"
	missing="$(figure '' missing)"
	unknown="$(figure '' unknown)"
	doubled="$(figure '' doubled)"
	summary="$after_kill"
	payments="$(figure '' paymentsRequested)"
	requested="$(figure '' amountRequested)"
	charges="$(figure protected charges)"
	charged="$(figure protected amountCharged)"
	gateway="$(figure gateway charges)"
	repeated=$(( $(figure gateway calls) - gateway ))
	unprotected="$(figure unprotected charges)"
	dead_letters="$(figure outbox deadLetters)"
	lines="$(figure statements applied)"
	stated="$(figure statements amount)"
	out_of_order="$(figure statements outOfOrder)"
	line="round $round: killed after $delay s at $charged_before charges; $payments payments,"
	line+=" $charges charges ($charged of $requested), gateway $gateway and $repeated repeated calls so far,"
	line+=" unprotected $unprotected, $lines statement lines ($stated), missing $missing, unknown $unknown,"
	line+=" doubled $doubled, out of order $out_of_order"
	if ! charged_once || ! stated_once || ! gateway_charged_once; then
		fail "$line: FAILED"
	fi
	echo "$line: passed"
done
(( payments > 0 )) || fail "no payment was requested in any round"
echo "$ROUNDS rounds, $ROUNDS passed"
