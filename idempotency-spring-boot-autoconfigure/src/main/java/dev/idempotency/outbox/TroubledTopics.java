package dev.idempotency.outbox;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

import org.jspecify.annotations.Nullable;

/**
 * Topics for whose messages one waits in vain while the broker takes others: it does not
 * know them, or has no leader or not enough replicas for them. For a while their messages
 * are not even tried, so that they do not hold up the others.
 */
final class TroubledTopics {

	private static final Duration MEMORY = Duration.ofSeconds(15);

	private static final Duration LONG = Duration.ofMillis(200);

	private final Map<String, Trouble> topics = new HashMap<>();

	static boolean isLong(long nanos) {
		return nanos > LONG.toNanos();
	}

	void add(String topic, Throwable reason) {
		this.topics.putIfAbsent(topic, new Trouble(System.nanoTime(), reason));
	}

	@Nullable Throwable reason(String topic) {
		if (this.topics.isEmpty()) {
			return null;
		}
		this.topics.values().removeIf((trouble) -> System.nanoTime() - trouble.since() > MEMORY.toNanos());
		Trouble trouble = this.topics.get(topic);
		return (trouble != null) ? trouble.reason() : null;
	}

	/**
	 * What the broker has said, or has not.
	 *
	 * @param since when, by {@link System#nanoTime()}
	 * @param reason what
	 */
	private record Trouble(long since, Throwable reason) {

	}

}
