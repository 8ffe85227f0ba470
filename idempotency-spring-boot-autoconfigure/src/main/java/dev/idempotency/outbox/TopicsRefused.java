package dev.idempotency.outbox;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

import org.jspecify.annotations.Nullable;

/**
 * Topics that the broker does not know or does not let us write to, and for which a send
 * blocks until it fails: for a while their messages are taken as refused, so that they do
 * not hold up the others.
 */
final class TopicsRefused {

	private static final Duration MEMORY = Duration.ofSeconds(15);

	private static final Duration LONG = Duration.ofMillis(500);

	private final Map<String, Refusal> topics = new HashMap<>();

	static boolean isLong(long nanos) {
		return nanos > LONG.toNanos();
	}

	void add(String topic, Throwable reason) {
		this.topics.put(topic, new Refusal(System.nanoTime(), reason));
	}

	@Nullable Throwable reason(String topic) {
		if (this.topics.isEmpty()) {
			return null;
		}
		this.topics.values().removeIf((refusal) -> System.nanoTime() - refusal.since() > MEMORY.toNanos());
		Refusal refusal = this.topics.get(topic);
		return (refusal != null) ? refusal.reason() : null;
	}

	/**
	 * What the broker has said.
	 *
	 * @param since when, by {@link System#nanoTime()}
	 * @param reason what
	 */
	private record Refusal(long since, Throwable reason) {

	}

}
