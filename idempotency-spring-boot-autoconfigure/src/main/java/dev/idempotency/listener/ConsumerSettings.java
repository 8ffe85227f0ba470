package dev.idempotency.listener;

import java.time.Duration;
import java.util.Properties;

import org.jspecify.annotations.Nullable;
import org.springframework.kafka.config.AbstractKafkaListenerContainerFactory;
import org.springframework.kafka.config.KafkaListenerContainerFactory;
import org.springframework.kafka.config.KafkaListenerEndpoint;

/**
 * What is said about the consumers of a container.
 *
 * @param autoCommit whether they commit offsets by themselves
 * @param maxPollInterval how long they may be silent
 */
record ConsumerSettings(boolean autoCommit, Duration maxPollInterval) {

	private static final long DEFAULT_MAX_POLL_INTERVAL = 300_000;

	static ConsumerSettings of(KafkaListenerEndpoint endpoint, KafkaListenerContainerFactory<?> factory) {
		// Spring Kafka turns it off unless somebody says otherwise.
		Object autoCommit = setting("enable.auto.commit", endpoint, factory);
		return new ConsumerSettings(autoCommit != null && Boolean.parseBoolean(autoCommit.toString()),
				Duration.ofMillis(millis(setting("max.poll.interval.ms", endpoint, factory))));
	}

	private static @Nullable Object setting(String name, KafkaListenerEndpoint endpoint,
			KafkaListenerContainerFactory<?> factory) {
		Properties properties = endpoint.getConsumerProperties();
		Object setting = (properties != null) ? properties.get(name) : null;
		return (setting == null && factory instanceof AbstractKafkaListenerContainerFactory<?, ?, ?> known
				&& known.getConsumerFactory() != null)
						? known.getConsumerFactory().getConfigurationProperties().get(name) : setting;
	}

	// What is no number will not start.
	private static long millis(@Nullable Object setting) {
		try {
			return (setting != null) ? Long.parseLong(setting.toString()) : DEFAULT_MAX_POLL_INTERVAL;
		}
		catch (NumberFormatException ex) {
			return DEFAULT_MAX_POLL_INTERVAL;
		}
	}

}
