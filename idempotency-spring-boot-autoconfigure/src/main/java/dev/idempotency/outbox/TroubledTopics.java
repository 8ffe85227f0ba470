package dev.idempotency.outbox;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Topics for whose messages one waits in vain: the broker does not know them, or has no
 * leader or not enough replicas for them, or does not answer at all. For a while their
 * messages are not claimed, so that they do not hold up the others: 5 seconds, as for the
 * election of a leader, then twice as long each time, 160 at most, since each try does
 * hold them up; but always 5 where only some partitions of the topic are in trouble.
 */
final class TroubledTopics {

	private static final Log logger = LogFactory.getLog(TroubledTopics.class);

	private static final Duration FIRST = Duration.ofSeconds(5);

	private static final Duration LONG = Duration.ofMillis(200);

	private final LongSupplier nanos;

	private final Map<String, Trouble> troubles = new HashMap<>();

	TroubledTopics(LongSupplier nanos) {
		this.nanos = nanos;
	}

	static boolean isLong(long nanos) {
		return nanos > LONG.toNanos();
	}

	/**
	 * A message of a topic has waited in vain.
	 * @param topic the topic
	 * @param error why, if nobody else tells of it
	 */
	void add(String topic, @Nullable Throwable error) {
		if (!contains(topic)) {
			Trouble known = this.troubles.getOrDefault(topic, Trouble.NONE);
			this.troubles.put(topic, known.again(this.nanos.getAsLong(), error));
		}
	}

	/**
	 * Whether it is known that these topics are in trouble while others are not.
	 * @param topics the topics
	 * @return whether that is why their messages wait, and not the broker
	 */
	boolean explain(Set<String> topics) {
		return topics.stream().allMatch((topic) -> this.troubles.getOrDefault(topic, Trouble.NONE).alone());
	}

	/**
	 * Learn from a round, and say what is news.
	 * @param outbox the name of the outbox
	 * @param published the topics that got something
	 * @param inVain those of messages that waited in vain
	 */
	void settle(String outbox, Set<String> published, Set<String> inVain) {
		this.troubles.entrySet().removeIf((entry) -> {
			boolean well = published.contains(entry.getKey()) && !inVain.contains(entry.getKey());
			if (well && entry.getValue().told()) {
				logger.info("The relay of the outbox '" + outbox + "' publishes to the topic '" + entry.getKey()
						+ "' again");
			}
			return well;
		});
		this.troubles.replaceAll((topic, trouble) -> {
			boolean tell = trouble.error() != null && !trouble.told() && inVain.contains(topic);
			if (tell) {
				logger.warn(
						"The relay of the outbox '" + outbox + "' cannot publish to the topic '" + topic
								+ "'; its messages wait and are tried again in " + trouble.pause().toSeconds()
								+ " s, others go on. Look at the leaders and the in-sync replicas of its partitions",
						trouble.error());
			}
			Trouble known = published.contains(topic) ? trouble.first(this.nanos.getAsLong()) : trouble;
			return known.learn(tell, !published.isEmpty());
		});
	}

	/**
	 * Try all of them again: it is the broker.
	 */
	void retry() {
		this.troubles.replaceAll((topic, trouble) -> trouble.over(this.nanos.getAsLong()));
	}

	boolean contains(String topic) {
		Trouble trouble = this.troubles.get(topic);
		return trouble != null && this.nanos.getAsLong() - trouble.until() < 0;
	}

	Set<String> names() {
		return this.troubles.isEmpty() ? Set.of()
				: this.troubles.keySet().stream().filter(this::contains).collect(Collectors.toSet());
	}

	/**
	 * How long to pause where nothing else is to be done.
	 * @param pause how long without such topics
	 * @return no longer than until one of them is to be tried again
	 */
	Duration pause(Duration pause) {
		long left = this.troubles.values()
			.stream()
			.mapToLong((trouble) -> trouble.until() - this.nanos.getAsLong())
			.filter((nanos) -> nanos > 0)
			.min()
			.orElse(Long.MAX_VALUE);
		return (left < pause.toNanos()) ? Duration.ofNanos(left) : pause;
	}

	/**
	 * What is known of a topic.
	 *
	 * @param failures how often its messages have waited in vain
	 * @param until when it is tried again, in {@link System#nanoTime}
	 * @param error what its last message failed with
	 * @param alone whether other topics have got something after that
	 * @param told whether people have been told
	 */
	private record Trouble(int failures, long until, @Nullable Throwable error, boolean alone, boolean told) {

		private static final Trouble NONE = new Trouble(0, 0, null, false, false);

		private static final int DOUBLINGS = 5;

		Duration pause() {
			return FIRST.multipliedBy(1L << Math.min(Math.max(this.failures - 1, 0), DOUBLINGS));
		}

		Trouble again(long now, @Nullable Throwable error) {
			Trouble next = new Trouble(this.failures + 1, now, error, this.alone, this.told);
			return new Trouble(next.failures, now + next.pause().toNanos(), error, this.alone, this.told);
		}

		// As if it had not failed before.
		Trouble first(long now) {
			return new Trouble(0, now, this.error, this.alone, this.told).again(now, this.error);
		}

		Trouble learn(boolean told, boolean othersWork) {
			return new Trouble(this.failures, this.until, this.error, this.alone || othersWork, this.told || told);
		}

		Trouble over(long now) {
			return new Trouble(0, now, this.error, this.alone, this.told);
		}

	}

}
