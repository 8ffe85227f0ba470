#!/usr/bin/env bash
# Kills the payment service at random moments under traffic and counts charges, statement lines and calls of the card
# gateway. With --redis, the keys of the gateway are in Redis. ROUNDS sets the number of kills (10), FREEZES the number
# of freezes (0). The program is the class KillRun in src/test; it uses the kill harness of the test module.
set -euo pipefail
cd "$(dirname "$0")"
readonly JAR=target/sample-payment-service.jar
readonly CLASSES=target/test-classes,../idempotency-spring-boot-test/target/classes
if [[ ! -f "$JAR" || ! -d "${CLASSES%%,*}" || ! -d "${CLASSES##*,}" ]]; then
	echo "The sample has not been built. In the folder above, run: mvn -q -DskipTests package" >&2
	exit 1
fi
# The launcher adds the classes to those of the jar.
exec java -cp "$JAR" -Dloader.path="$CLASSES" -Dloader.main=dev.idempotency.sample.kill.KillRun \
	-XX:TieredStopAtLevel=1 org.springframework.boot.loader.launch.PropertiesLauncher "$@"
