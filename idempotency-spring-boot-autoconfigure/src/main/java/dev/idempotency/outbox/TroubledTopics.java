package dev.idempotency.outbox;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/**
 * Topics for whose messages one waits in vain: the broker does not know them, or has no
 * leader or not enough replicas for them, or does not answer at all. For a while their
 * messages are not claimed, so that they do not hold up the others.
 */
final class TroubledTopics {

	private static final Duration MEMORY = Duration.ofSeconds(15);

	private static final Duration LONG = Duration.ofMillis(200);

	private final Map<String, Long> since = new HashMap<>();

	static boolean isLong(long nanos) {
		return nanos > LONG.toNanos();
	}

	void add(String topic) {
		this.since.putIfAbsent(topic, System.nanoTime());
	}

	void clear() {
		this.since.clear();
	}

	Set<String> names() {
		if (!this.since.isEmpty()) {
			this.since.values().removeIf((nanos) -> System.nanoTime() - nanos > MEMORY.toNanos());
		}
		return this.since.keySet();
	}

}
