#!/usr/bin/env bash
# Builds the library, runs the benchmarks and writes docs/benchmarks.md and docs/benchmarks.svg.
#   --quick      runs a smoke test of less than a minute. Its figures are not meaningful and are written to target/
#   --only=TEXT  runs only the rows whose name contains the text. The figures are written to target/
#   cleanup      runs only the benchmark of the cleanup under load and prints its table. Settings of the cleanup may
#                follow, such as pause=50ms
#   outbox       runs only the comparison of the outbox relay with a bare KafkaTemplate and prints its tables
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
