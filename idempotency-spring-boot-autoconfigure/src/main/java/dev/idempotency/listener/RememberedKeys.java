package dev.idempotency.listener;

import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;

import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.support.TopicPartitionOffset;

/**
 * For how long a listener remembers the keys of its topics.
 *
 * @param listener the name of the listener
 * @param container says what its topics are
 * @param retention how long a key is remembered
 */
record RememberedKeys(String listener, ContainerProperties container, Duration retention) {

	Collection<String> topics(Names all) throws InterruptedException, ExecutionException, TimeoutException {
		String[] topics = this.container.getTopics();
		if (topics != null) {
			return List.of(topics);
		}
		TopicPartitionOffset[] partitions = this.container.getTopicPartitions();
		if (partitions != null) {
			return Arrays.stream(partitions)
				.map(TopicPartitionOffset::getTopicPartition)
				.map(TopicPartition::topic)
				.distinct()
				.toList();
		}
		Pattern pattern = this.container.getTopicPattern();
		return (pattern != null) ? all.get().stream().filter(pattern.asMatchPredicate()).toList() : List.of();
	}

	/**
	 * What is to be said about a topic.
	 * @param topic its name
	 * @param config its settings
	 * @return a sentence, {@code null} if all is well
	 */
	@Nullable String warning(String topic, Config config) {
		String millis = value(config, "retention.ms");
		// A compacted topic keeps the last record of each key for ever, on purpose.
		if (millis == null || "compact".equals(value(config, "cleanup.policy"))) {
			return null;
		}
		Duration kept = Duration.ofMillis(Long.parseLong(millis));
		if (!kept.isNegative() && kept.compareTo(this.retention) <= 0) {
			return null;
		}
		return "The idempotent listener " + this.listener + " remembers keys for "
				+ DurationSetting.text(this.retention) + ", but the topic '" + topic + "' keeps records "
				+ (kept.isNegative() ? "for ever" : "for " + DurationSetting.text(kept))
				+ ": one that is read again after its key is forgotten, because offsets were reset or a consumer was far "
				+ "behind, takes effect again. Set 'idempotency.retention', or 'retention' of @Idempotent, to "
				+ (kept.isNegative() ? "what you would ever read again" : DurationSetting.text(kept) + " or more")
				+ ", or 'retention.ms' of the topic to no more than " + this.retention.toMillis();
	}

	private static @Nullable String value(Config config, String name) {
		ConfigEntry entry = config.get(name);
		return (entry != null) ? entry.value() : null;
	}

	/**
	 * The names of all topics.
	 */
	interface Names {

		Set<String> get() throws InterruptedException, ExecutionException, TimeoutException;

	}

}
