/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.setup;

import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.jspecify.annotations.Nullable;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.ApplicationListener;
import org.springframework.core.Ordered;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.event.ConsumerStartingEvent;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;
import org.springframework.kafka.listener.BatchMessageListener;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.ContainerProperties.AckMode;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.util.backoff.BackOffExecution;
import org.springframework.util.backoff.ExponentialBackOff;

import dev.idempotency.Threads;
import dev.idempotency.listener.delivery.DeliveryListener;
import dev.idempotency.listener.delivery.ManualAcknowledgments;
import dev.idempotency.listener.delivery.ProtectedListeners;
import dev.idempotency.listener.error.BlockedRecordHandling;
import dev.idempotency.listener.method.ListenerShape;

/**
 * Installs the protection of containers: the decorators of the message listener, the
 * error handler and the after-rollback processor.
 * <p>
 * The application may replace each of them later. The protection is therefore verified
 * each time a consumer of the container starts, on the thread of the consumer and before
 * its first poll. A consumer without the decorators is restarted with them. A container
 * that can no longer be protected is stopped.
 */
final class ContainerInstallations implements ApplicationListener<ConsumerStartingEvent>, Ordered {

	private static final Log logger = LogFactory.getLog(ContainerInstallations.class);

	private final BlockedRecordHandling blockedRecords;

	private final ApplicationEventPublisher publisher;

	// The application may unregister a container.
	private final Map<AbstractMessageListenerContainer<?, ?>, Installation> installations = Collections
		.synchronizedMap(new WeakHashMap<>());

	private final Set<AbstractMessageListenerContainer<?, ?>> restarted = Collections
		.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

	ContainerInstallations(BlockedRecordHandling blockedRecords, ApplicationEventPublisher publisher) {
		this.blockedRecords = blockedRecords;
		this.publisher = publisher;
	}

	// A container of a function has no listener yet. It is decorated when its first
	// consumer starts: that consumer is restarted before it polls.
	void install(AbstractMessageListenerContainer<?, ?> container, ProtectedListeners listeners) {
		Installation installation = Installation.of(container, listeners);
		if (container.getApplicationEventPublisher() == null) {
			// The container factory is not a bean. The publisher is decorated too.
			container.setApplicationEventPublisher(this.publisher);
		}
		decorate(container, installation);
		this.installations.put(container, installation);
	}

	private void decorate(AbstractMessageListenerContainer<?, ?> container, Installation installation) {
		ProtectedListeners listeners = installation.listeners();
		Object listener = ListenerShape.listener(container);
		if (listener != null && !(listener instanceof DeliveryListener<?, ?>)) {
			container
				.setupMessageListener(DeliveryListener.decorate(listener, listeners, installation.transactional()));
		}
		this.blockedRecords.install(container, listeners, listeners.asyncRetries());
	}

	private boolean isDecorated(AbstractMessageListenerContainer<?, ?> container) {
		return ListenerShape.listener(container) instanceof DeliveryListener<?, ?>
				&& this.blockedRecords.isInstalled(container);
	}

	// Consumers of other containers, which need not be of this type, send the event too.
	@Override
	public void onApplicationEvent(ConsumerStartingEvent event) {
		Installation installation = this.installations.get(event.getContainer(Object.class));
		if (installation == null) {
			return;
		}
		// Each consumer of a container is a container
		// itself, with copies of the decorators.
		AbstractMessageListenerContainer<?, ?> container = event.getContainer(AbstractMessageListenerContainer.class);
		AbstractMessageListenerContainer<?, ?> consumer = event.getSource(AbstractMessageListenerContainer.class);
		String problem = installation.problem(consumer);
		if (problem == null) {
			if (isDecorated(consumer)) {
				this.restarted.remove(consumer);
				return;
			}
			problem = this.restarted.add(consumer) ? null
					: "its listener, error handler, after-rollback processor or interceptor is replaced at each start. "
							+ "Set it on the container factory";
		}
		if (problem != null) {
			stop(container, consumer, problem);
			return;
		}
		decorate(container, installation);
		decorate(consumer, installation);
		if (installation.complete()) {
			logger.info("The listener, the error handler, the after-rollback processor or an interceptor of the "
					+ "container '" + container.getListenerId() + "' was replaced after its registration. Its consumer "
					+ "is restarted, because a record could be lost otherwise");
		}
		consumer.stop(() -> Threads.daemon("idempotency-restart", () -> restart(container, consumer)).start());
	}

	// A consumer polls only while its container is running, so this one never polls.
	private static void stop(AbstractMessageListenerContainer<?, ?> container,
			AbstractMessageListenerContainer<?, ?> consumer, String problem) {
		logger.error("The container '" + container.getListenerId()
				+ "' was stopped before it delivered a record: its listener is idempotent, and " + problem);
		consumer.stop(() -> {
		});
		// The thread that starts the container holds its lock until all consumers start.
		Threads.daemon("idempotency-stop", () -> container.stop(() -> {
		})).start();
	}

	// Without a restart, the container would keep running and the partitions of this
	// consumer would have none.
	private static void restart(AbstractMessageListenerContainer<?, ?> container,
			AbstractMessageListenerContainer<?, ?> consumer) {
		// Gives up after about half a minute.
		ExponentialBackOff delays = new ExponentialBackOff(500, 2);
		delays.setMaxAttempts(6);
		BackOffExecution backOff = delays.start();
		while (isExpected(container, consumer)) {
			try {
				consumer.start();
				return;
			}
			catch (RuntimeException | Error ex) {
				if (!isExpected(container, consumer)) {
					// The application has stopped the container in the meantime.
					logger.debug("A consumer was not restarted, because its container was stopped", ex);
					return;
				}
				long delay = backOff.nextBackOff();
				if (delay == BackOffExecution.STOP) {
					stop(container, consumer, "its consumer could not be restarted with the protection: " + ex
							+ ". Remove the cause and start the container again");
					return;
				}
				logger.warn("A consumer of the container '" + container.getListenerId()
						+ "' could not be restarted. The restart is retried in " + delay + " ms", ex);
				LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(delay));
			}
		}
	}

	// A container without children is its own
	// consumer, and is stopped during the restart.
	private static boolean isExpected(AbstractMessageListenerContainer<?, ?> container,
			AbstractMessageListenerContainer<?, ?> consumer) {
		return container == consumer
				|| (container.isRunning() && (!(container instanceof ConcurrentMessageListenerContainer<?, ?> parent)
						|| parent.getContainers().contains(consumer)));
	}

	// The consumer must not poll before the verification.
	@Override
	public boolean supportsAsyncExecution() {
		return false;
	}

	// Another listener of this event may change the container for its next start.
	@Override
	public int getOrder() {
		return Ordered.HIGHEST_PRECEDENCE;
	}

	static Map<String, Object> consumerProperties(MessageListenerContainer container,
			@Nullable ConsumerFactory<?, ?> consumers) {
		Map<String, Object> properties = new HashMap<>();
		if (consumers != null) {
			properties.putAll(consumers.getConfigurationProperties());
		}
		// Contains the properties of the annotation.
		Properties own = container.getContainerProperties().getKafkaConsumerProperties();
		own.forEach((name, value) -> properties.put(name.toString(), value));
		own.stringPropertyNames().forEach((name) -> properties.put(name, own.getProperty(name)));
		return properties;
	}

	// Return whether the consumers of a container commit offsets by themselves.
	// Spring Kafka disables that unless a property enables it.
	static boolean isAutoCommit(Map<String, Object> properties) {
		return Boolean.parseBoolean(String.valueOf(properties.get(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG)));
	}

	/**
	 * The protection of a container, and the properties of the container that must not
	 * change after its registration.
	 *
	 * @param listeners its protected methods
	 * @param complete whether it had a listener
	 * @param batch whether its listener receives batches
	 * @param transactional whether it has a Kafka transaction
	 * @param manual whether its listener acknowledges records
	 * @param group its consumer group
	 */
	private record Installation(ProtectedListeners listeners, boolean complete, boolean batch, boolean transactional,
			boolean manual, @Nullable String group) {

		static Installation of(AbstractMessageListenerContainer<?, ?> container, ProtectedListeners listeners) {
			Object listener = ListenerShape.listener(container);
			return new Installation(listeners, listener != null, listener instanceof BatchMessageListener<?, ?>,
					container.getContainerProperties().getKafkaAwareTransactionManager() != null,
					ManualAcknowledgments.isManual(container.getContainerProperties().getAckMode()),
					container.getGroupId());
		}

		@Nullable String problem(AbstractMessageListenerContainer<?, ?> container) {
			Installation current = of(container, this.listeners);
			if (current.batch != this.batch) {
				return "its listener was replaced by one "
						+ (this.batch ? "that does not accept a batch" : "that accepts a batch")
						+ ". Set a listener of the same kind";
			}
			if (current.transactional != this.transactional) {
				return "its Kafka transaction manager was " + (this.transactional ? "removed" : "set")
						+ " after its registration. Set it on the container factory";
			}
			AckMode mode = container.getContainerProperties().getAckMode();
			if (current.manual != this.manual || (this.transactional && mode == AckMode.MANUAL_IMMEDIATE)) {
				return "its ack mode was changed to " + mode
						+ " after its registration, which decided when keys are completed. Set it on the container "
						+ "factory";
			}
			if (!Objects.equals(current.group, this.group)) {
				return "its consumer group was changed to '" + current.group
						+ "' after its registration. Set 'groupId' of @KafkaListener";
			}
			if (isAutoCommit(consumerProperties(container, null))) {
				return "its consumer commits offsets by itself, also of blocked records. Remove 'enable.auto.commit' "
						+ "from its properties";
			}
			return null;
		}

	}

}
