package dev.idempotency.contract;

import java.time.Duration;
import java.time.Instant;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyStore;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * What the tests of one concern need. The concerns are interfaces so that a store is
 * tested by one class, under its own name.
 */
interface StoreContract {

	Duration POLL = Duration.ofMillis(2);

	IdempotencyStore store();

	/**
	 * A short lease, for tests that wait until it has run out.
	 * @return the shortest lease that the store can keep, or a bit more
	 */
	default Duration lease() {
		return Duration.ofMillis(100);
	}

	/**
	 * A short retention, for tests that wait until it is over.
	 * @return the shortest retention that the store can keep, or a bit more
	 */
	default Duration retention() {
		return Duration.ofMillis(500);
	}

	/**
	 * By how much a time may differ because of the unit in which the store keeps it.
	 * @return the unit
	 */
	default Duration precision() {
		return Duration.ofMillis(1);
	}

	/**
	 * By how much the end of the retention may differ from one time that it is told to
	 * the next.
	 * @return the difference
	 */
	default Duration precisionOfTheEnd() {
		return precision();
	}

	Duration competition();

	// The store's own clock tells when the time is over: by a claim that is made now and
	// then runs out.
	default void letPass(Duration time) {
		IdempotencyKey witness = Requests.newKey();
		store().claim(Requests.request(witness, time.plus(precision())));
		await().atMost(time.plusSeconds(10))
			.pollDelay(Duration.ZERO)
			.pollInterval(POLL)
			.until(() -> store().claim(Requests.request(witness)), Requests::isAcquired);
	}

	default IdempotencyRecord record(IdempotencyKey key) {
		return store().find(key).orElseThrow(() -> new AssertionError("Nothing is known about the " + key));
	}

	/**
	 * Compare a record with what it was, its times as exactly as the store tells them.
	 * @param key the key
	 * @param expected what it was
	 */
	default void assertUnchanged(IdempotencyKey key, IdempotencyRecord expected) {
		assertThat(record(key)).usingRecursiveComparison()
			.withComparatorForType((left, right) -> compare(left, right, precision()), Instant.class)
			.withComparatorForFields((left, right) -> compare((Instant) left, (Instant) right, precisionOfTheEnd()),
					"expiresAt")
			.isEqualTo(expected);
	}

	private static int compare(Instant left, Instant right, Duration precision) {
		return (Duration.between(left, right).abs().compareTo(precision) <= 0) ? 0 : left.compareTo(right);
	}

}
