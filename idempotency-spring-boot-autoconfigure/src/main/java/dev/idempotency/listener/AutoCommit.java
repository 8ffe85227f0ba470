package dev.idempotency.listener;

import java.util.Map;
import java.util.Properties;

import org.jspecify.annotations.Nullable;
import org.springframework.kafka.config.AbstractKafkaListenerContainerFactory;
import org.springframework.kafka.config.KafkaListenerContainerFactory;
import org.springframework.kafka.listener.MessageListenerContainer;

/**
 * Whether the consumers of a container commit offsets by themselves. Spring Kafka turns
 * that off where no property names it.
 */
final class AutoCommit {

	private static final String PROPERTY = "enable.auto.commit";

	private AutoCommit() {
	}

	static boolean isEnabled(MessageListenerContainer container, KafkaListenerContainerFactory<?> factory) {
		Object setting = setting(container);
		if (setting == null && factory instanceof AbstractKafkaListenerContainerFactory<?, ?, ?> known
				&& known.getConsumerFactory() != null) {
			Map<String, Object> properties = known.getConsumerFactory().getConfigurationProperties();
			setting = properties.get(PROPERTY);
		}
		return isTrue(setting);
	}

	static boolean isEnabled(MessageListenerContainer container) {
		return isTrue(setting(container));
	}

	// Those of the annotation are among them.
	private static @Nullable Object setting(MessageListenerContainer container) {
		Properties properties = container.getContainerProperties().getKafkaConsumerProperties();
		Object setting = properties.get(PROPERTY);
		return (setting != null) ? setting : properties.getProperty(PROPERTY);
	}

	private static boolean isTrue(@Nullable Object setting) {
		return setting != null && Boolean.parseBoolean(setting.toString());
	}

}
