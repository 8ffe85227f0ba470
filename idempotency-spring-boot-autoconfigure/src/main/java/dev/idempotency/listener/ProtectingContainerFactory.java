package dev.idempotency.listener;

import java.util.Properties;
import java.util.function.Supplier;
import java.util.regex.Pattern;

import org.springframework.kafka.config.AbstractKafkaListenerContainerFactory;
import org.springframework.kafka.config.KafkaListenerContainerFactory;
import org.springframework.kafka.config.KafkaListenerEndpoint;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.support.TopicPartitionOffset;

/**
 * Protects what another factory has created, when nothing is left to be done to it.
 */
final class ProtectingContainerFactory implements KafkaListenerContainerFactory<MessageListenerContainer> {

	private static final String AUTO_COMMIT = "enable.auto.commit";

	private final KafkaListenerContainerFactory<?> delegate;

	private final Supplier<ContainerProtection> protection;

	private final KafkaListenerEndpointRegistry registry;

	ProtectingContainerFactory(KafkaListenerContainerFactory<?> delegate, Supplier<ContainerProtection> protection,
			KafkaListenerEndpointRegistry registry) {
		this.delegate = delegate;
		this.protection = protection;
		this.registry = registry;
	}

	@Override
	public MessageListenerContainer createListenerContainer(KafkaListenerEndpoint endpoint) {
		MessageListenerContainer container = this.delegate.createListenerContainer(endpoint);
		if (ContainerProtection.concerns(endpoint)) {
			this.protection.get().protect(container, endpoint, isAutoCommit(endpoint), this.registry);
		}
		return container;
	}

	// Spring Kafka turns it off unless somebody says otherwise.
	private boolean isAutoCommit(KafkaListenerEndpoint endpoint) {
		Properties properties = endpoint.getConsumerProperties();
		Object setting = (properties != null) ? properties.get(AUTO_COMMIT) : null;
		if (setting == null && this.delegate instanceof AbstractKafkaListenerContainerFactory<?, ?, ?> factory
				&& factory.getConsumerFactory() != null) {
			setting = factory.getConsumerFactory().getConfigurationProperties().get(AUTO_COMMIT);
		}
		return setting != null && Boolean.parseBoolean(setting.toString());
	}

	@Override
	public MessageListenerContainer createContainer(TopicPartitionOffset... topicPartitions) {
		return this.delegate.createContainer(topicPartitions);
	}

	@Override
	public MessageListenerContainer createContainer(String... topics) {
		return this.delegate.createContainer(topics);
	}

	@Override
	public MessageListenerContainer createContainer(Pattern topicPattern) {
		return this.delegate.createContainer(topicPattern);
	}

}
