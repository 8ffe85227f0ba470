package dev.idempotency.storm;

import java.time.Duration;
import java.util.Random;
import java.util.Set;

import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for a process that is killed repeatedly under load.
 */
@Tag("storm")
@ResourceLock("storms")
@Order(1)
class KillTests {

	private static final int ROUNDS = Integer.getInteger("test.kill.rounds", 1);

	private static final int PAYMENTS = 1000;

	private final Random random = new Random();

	@ParameterizedTest
	@CsvSource("TRANSACTIONAL, JDBC")
	@Tag("promise-1")
	@Tag("promise-5")
	@Tag("promise-7")
	void paymentsAreChargedExactlyOnceWhenTheProcessIsKilled(Shape shape, Store store) throws Exception {
		try (PaymentProcesses processes = new PaymentProcesses(shape, store, this.random)) {
			PaymentTraffic traffic = new PaymentTraffic(processes.topic(), this.random, shape.recognizesCopies());
			Charges charges = killRepeatedly(processes, traffic, shape.speed() * PAYMENTS);
			charges.assertNoneLost(traffic.payments());
			charges.assertNoneDoubled(traffic.payments());
		}
	}

	@ParameterizedTest
	@CsvSource("RECORD, REDIS")
	@Tag("promise-1")
	@Tag("promise-6")
	@Tag("promise-7")
	void paymentsAreNotLostAndOnlyOpenOnesAreRepeatedWhenTheProcessIsKilled(Shape shape, Store store) throws Exception {
		try (PaymentProcesses processes = new PaymentProcesses(shape, store, this.random)) {
			PaymentTraffic traffic = new PaymentTraffic(processes.topic(), this.random);
			Charges charges = killRepeatedly(processes, traffic, shape.speed() * PAYMENTS);
			charges.assertNoneLost(traffic.payments());
			processes.assertRepeatedOnlyByKilledProcesses(charges);
		}
	}

	@ParameterizedTest
	@CsvSource({ "BATCH_TRANSACTIONAL, JDBC", "TRANSACTIONAL, MARIADB", "BATCH_TRANSACTIONAL, MARIADB", "OFFSET, JDBC",
			"BATCH_OFFSET, JDBC", "OFFSET, MARIADB" })
	@EnabledIfSystemProperty(named = "test.kill.rounds", matches = ".+", disabledReason = "Part of the profile storm")
	void paymentsOfOtherTransactionalShapesAreChargedExactlyOnceWhenTheProcessIsKilled(Shape shape, Store store)
			throws Exception {
		paymentsAreChargedExactlyOnceWhenTheProcessIsKilled(shape, store);
	}

	@ParameterizedTest
	@CsvSource({ "RECORD, JDBC", "BATCH, JDBC", "BATCH, REDIS", "ASYNC, JDBC", "KAFKA_TRANSACTION, JDBC",
			"RECORD, MARIADB", "BATCH, MARIADB", "RECORD, DYNAMO_DB", "BATCH, DYNAMO_DB" })
	@EnabledIfSystemProperty(named = "test.kill.rounds", matches = ".+", disabledReason = "Part of the profile storm")
	void paymentsOfOtherLeasedShapesAreNotLostAndOnlyOpenOnesAreRepeatedWhenTheProcessIsKilled(Shape shape, Store store)
			throws Exception {
		paymentsAreNotLostAndOnlyOpenOnesAreRepeatedWhenTheProcessIsKilled(shape, store);
	}

	@ParameterizedTest
	@CsvSource({ "ASYNC_FAILING, JDBC", "ASYNC_FAILING, REDIS" })
	@Tag("promise-1")
	@Tag("promise-6")
	@EnabledIfSystemProperty(named = "test.kill.rounds", matches = ".+", disabledReason = "Part of the profile storm")
	void asynchronousPaymentsWithFailuresAreDrainedDespiteTenKills(Shape shape, Store store) throws Exception {
		try (PaymentProcesses processes = new PaymentProcesses(shape, store, this.random)) {
			PaymentTraffic traffic = new PaymentTraffic(processes.topic(), this.random);
			Charges charges = killRepeatedly(processes, traffic, 300, 10);
			charges.assertNoneLost(traffic.payments());
			processes.assertRepeatedOnlyByKilledProcesses(charges);
		}
	}

	@ParameterizedTest
	@CsvSource({ "REFUSING, JDBC", "REFUSING, MARIADB" })
	@Tag("promise-1")
	@Tag("promise-5")
	@EnabledIfSystemProperty(named = "test.kill.rounds", matches = ".+", disabledReason = "Part of the profile storm")
	void refusedPaymentsAreNotChargedAndTheOthersOnceDespiteTenKills(Shape shape, Store store) throws Exception {
		try (PaymentProcesses processes = new PaymentProcesses(shape, store, this.random)) {
			PaymentTraffic traffic = new PaymentTraffic(processes.topic(), this.random);
			Charges charges = killRepeatedly(processes, traffic, 300, 10);
			charges.assertNoneLost(traffic.payments());
			charges.assertNoneDoubled(traffic.payments());
		}
	}

	@ParameterizedTest
	@CsvSource("ASYNC_FAILING, JDBC")
	@Tag("promise-1")
	@Tag("promise-3")
	@EnabledIfSystemProperty(named = "test.kill.rounds", matches = ".+", disabledReason = "Part of the profile storm")
	void asynchronousPaymentsWithFailuresAreChargedOnceWithoutKills(Shape shape, Store store) throws Exception {
		try (PaymentProcesses processes = new PaymentProcesses(shape, store, this.random)) {
			PaymentTraffic traffic = new PaymentTraffic(processes.topic(), this.random);
			traffic.send(3000, Duration.ZERO);
			Charges charges = killRepeatedly(processes, traffic, 0, 0);
			charges.assertNoneLost(traffic.payments());
			charges.assertNoneDoubled(traffic.payments());
		}
	}

	private Charges killRepeatedly(PaymentProcesses processes, PaymentTraffic traffic, int payments) throws Exception {
		return killRepeatedly(processes, traffic, payments, ROUNDS);
	}

	@ParameterizedTest
	@CsvSource({ "VERSION_TRANSACTIONAL, JDBC", "BATCH_VERSION_TRANSACTIONAL, JDBC", "VERSION, JDBC", "VERSION, REDIS",
			"BATCH_VERSION, REDIS", "VERSION_TRANSACTIONAL, MARIADB", "VERSION, DYNAMO_DB" })
	@Tag("promise-1")
	@Tag("promise-3")
	@EnabledIfSystemProperty(named = "test.kill.rounds", matches = ".+", disabledReason = "Part of the profile storm")
	void versionsOfAnAccountOnlyGrowDespiteTenKills(Shape shape, Store store) throws Exception {
		try (PaymentProcesses processes = new PaymentProcesses(shape, store, this.random)) {
			VersionTraffic traffic = new VersionTraffic(processes.topic(), this.random);
			Charges charges = kill(processes, traffic, shape.speed() * PAYMENTS, 10);
			boolean leased = shape == Shape.VERSION || shape == Shape.BATCH_VERSION;
			charges.assertVersionsGrow(traffic.highest(), leased ? processes.killed() : Set.of());
			System.out.printf("%s: versions of %d accounts in %d records, killed %d processes%n", processes.name(),
					traffic.highest().size(), traffic.records(), processes.killed().size());
		}
	}

	private Charges killRepeatedly(PaymentProcesses processes, PaymentTraffic traffic, int payments, int rounds)
			throws Exception {
		Charges charges = kill(processes, traffic, payments, rounds);
		System.out.printf("%s: %d payments in %d records, killed %d processes, %d doubled%n", processes.name(),
				traffic.payments().size(), traffic.records(), processes.killed().size(), charges.doubles());
		return charges;
	}

	private Charges kill(PaymentProcesses processes, Traffic traffic, int payments, int rounds) throws Exception {
		int late = 0;
		for (int round = 0; round < rounds; round++) {
			// A loaded machine may observe the lag only after the last record: such a
			// kill shows nothing, and the round is repeated.
			do {
				processes.add();
				traffic.send(payments);
				processes.awaitLag((long) (processes.lag() * this.random.nextDouble(0.4, 0.95)));
				processes.kill();
			}
			while (processes.lag() == 0 && ++late <= rounds);
			assertThat(processes.lag()).as("records left for the next process").isPositive();
		}
		processes.add();
		return processes.end();
	}

}
