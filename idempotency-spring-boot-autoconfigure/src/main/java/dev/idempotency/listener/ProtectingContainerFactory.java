package dev.idempotency.listener;

import java.util.function.Supplier;
import java.util.regex.Pattern;

import org.springframework.kafka.config.KafkaListenerContainerFactory;
import org.springframework.kafka.config.KafkaListenerEndpoint;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.support.TopicPartitionOffset;

/**
 * Protects what another factory has created, when nothing is left to be done to it.
 */
final class ProtectingContainerFactory implements KafkaListenerContainerFactory<MessageListenerContainer> {

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
			this.protection.get()
				.protect(container, endpoint, AutoCommit.isEnabled(container, this.delegate), this.registry);
		}
		return container;
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
