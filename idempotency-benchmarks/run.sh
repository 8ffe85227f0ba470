#!/usr/bin/env bash
# Builds the library, runs the benchmarks and writes docs/benchmarks.md and docs/benchmarks.svg.
#   --quick      runs a smoke test of less than a minute. Its figures are not meaningful and are written to target/
#   --rounds=25  measures each row so often; five times is the default
#   --latency=500us delays the replies of the stores by so much; only the rows with a goal, into target/
#   --only=TEXT  runs only the rows whose name contains the text, such as mariadb or dynamodb. Several such options
#                select the rows that contain one of the texts. The figures are written to target/
#   cleanup      runs only the benchmark of the cleanup under load and prints its table. Settings of the cleanup may
#                follow, such as pause=50ms
#   peers        compares the library with a unique key by hand, Spring Integration and Camel: the rate of each, and
#                what each loses and doubles when its consumer is killed. Prints the tables and writes target/peers.md.
#                Settings may follow: rounds=5 records=12000 warm-up=30000 duplicates=0 (percent) threads=2 partitions=4
#                kills=10 (0: no kill runs; rounds=0: no rates) kill-after=4000 (records, at most)
#                only=TEXT,TEXT (parts of the names in the table, such as JDBC,ours)
#   growth       measures claims in tables with 0.1, 1 and 10 million keys, and the heap of a consumer. Prints the
#                tables and writes target/growth.md. Settings may follow: rounds=5 sizes=100000,1000000,10000000
#                layouts=single,partitioned (empty: none) claims=10000 (in each window) threads=2 shared-buffers=1GB
#                heap-minutes=5 (for each mode; 0: none) heap-rate=500 (records/s)
#   failing      measures batches of which some records fail. Prints the table and writes target/failing.md. Settings may
#                follow: rounds=5 size=100 (records of a batch) records=20000 (of a round) percent=0,1,10
#   start        measures what the library adds to the start and the memory of a small application. Prints the table and
#                writes target/start.md. A setting may follow: rounds=15
#   outbox       runs only the comparison of the outbox relay with a bare KafkaTemplate and prints its tables. With
#                --ack-delay=5ms it compares only the rates, with a broker whose replies take so much longer
set -euo pipefail

cd "$(dirname "$0")/.."
# The module of the tests writes the class path of DynamoDB Local.
mvn -q -B -Pbenchmarks -pl idempotency-benchmarks,idempotency-tests -am -Dmaven.test.skip=true package
main=Benchmarks
if [ "${1:-}" = cleanup ]; then
	main=CleanupBenchmark
	shift
elif [ "${1:-}" = outbox ]; then
	main=OutboxBenchmark
	shift
elif [ "${1:-}" = peers ]; then
	main=PeersBenchmark
	shift
elif [ "${1:-}" = growth ]; then
	main=GrowthBenchmark
	shift
elif [ "${1:-}" = start ]; then
	main=StartBenchmark
	shift
elif [ "${1:-}" = failing ]; then
	main=FailingBatches
	shift
fi
exec java -Xms2g -Xmx2g -cp "idempotency-benchmarks/target/classes:idempotency-benchmarks/target/lib/*" \
	"dev.idempotency.benchmarks.$main" "$@"
