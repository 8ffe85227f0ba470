#!/usr/bin/env bash
# Builds the library, measures it, and writes docs/benchmarks.md and docs/benchmarks.svg.
#   --quick      a smoke run of less than a minute; its figures say nothing and go to target/
#   --only=TEXT  only the rows whose name contains the text; goes to target/ too
#   cleanup      instead of all that, the cleanup beside a running load; its table goes to the screen. Settings of the
#                cleanup may follow, such as pause=50ms
#   outbox       instead of all that, the relay of an outbox beside a bare KafkaTemplate; its tables go to the screen
set -euo pipefail

cd "$(dirname "$0")/.."
mvn -q -B -Pbenchmarks -pl idempotency-benchmarks -am -Dmaven.test.skip=true package
main=Benchmarks
if [ "${1:-}" = cleanup ]; then
	main=CleanupBenchmark
	shift
elif [ "${1:-}" = outbox ]; then
	main=OutboxBenchmark
	shift
fi
exec java -Xms2g -Xmx2g -cp "idempotency-benchmarks/target/classes:idempotency-benchmarks/target/lib/*" \
	"dev.idempotency.benchmarks.$main" "$@"
