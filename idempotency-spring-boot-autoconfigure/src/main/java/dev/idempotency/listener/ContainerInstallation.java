package dev.idempotency.listener;

import java.util.Objects;

import org.jspecify.annotations.Nullable;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;
import org.springframework.kafka.listener.BatchMessageListener;
import org.springframework.kafka.listener.ContainerProperties.AckMode;
import org.springframework.kafka.listener.MessageListener;
import org.springframework.kafka.transaction.KafkaAwareTransactionManager;

import dev.idempotency.listener.error.BlockedRecordHandling;

/**
 * The protection of one container: around its listener, its error handler and its
 * after-rollback processor. The application may replace each of them later, and the
 * consumers of a container are containers of their own with copies of them.
 */
final class ContainerInstallation {

	private final ProtectedListeners listeners;

	private final BlockedRecordHandling blockedRecords;

	private final boolean batch;

	private final boolean transactional;

	private final boolean manual;

	private final @Nullable String group;

	ContainerInstallation(AbstractMessageListenerContainer<?, ?> container, ProtectedListeners listeners,
			BlockedRecordHandling blockedRecords) {
		this.listeners = listeners;
		this.blockedRecords = blockedRecords;
		this.batch = listener(container) instanceof BatchMessageListener<?, ?>;
		this.transactional = manager(container) != null;
		this.manual = ListenerShape.isManual(container.getContainerProperties().getAckMode());
		this.group = container.getGroupId();
	}

	/**
	 * Find out why a container can be protected no more.
	 * @param container the container
	 * @return a clause and an action, {@code null} if it can
	 */
	@Nullable String problem(AbstractMessageListenerContainer<?, ?> container) {
		if (listener(container) instanceof BatchMessageListener<?, ?> != this.batch) {
			return "its listener was replaced by one "
					+ (this.batch ? "that does not accept a batch" : "that accepts a batch")
					+ ". Set a listener of the same kind";
		}
		if ((manager(container) != null) != this.transactional) {
			return "its Kafka transaction manager was " + (this.transactional ? "removed" : "set")
					+ " after its registration. Set it on the container factory";
		}
		AckMode mode = container.getContainerProperties().getAckMode();
		if (ListenerShape.isManual(mode) != this.manual || (this.transactional && mode == AckMode.MANUAL_IMMEDIATE)) {
			return "its ack mode was changed to " + mode
					+ " after its registration, which decided when keys are completed. Set it on the container factory";
		}
		if (!Objects.equals(container.getGroupId(), this.group)) {
			return "its consumer group was changed to '" + container.getGroupId()
					+ "' after its registration. Set 'groupId' of @KafkaListener";
		}
		if (AutoCommit.isEnabled(container)) {
			return "its consumer commits offsets by itself, also of blocked records. Remove 'enable.auto.commit' from "
					+ "its properties";
		}
		return null;
	}

	boolean isInstalled(AbstractMessageListenerContainer<?, ?> container) {
		Object listener = listener(container);
		return (listener instanceof DeliveryListener<?, ?> || listener instanceof BatchDeliveryListener<?, ?>)
				&& this.blockedRecords.isInstalled(container);
	}

	/**
	 * Protect a container that is not running. Nothing that is protected already is
	 * protected again.
	 * @param container the container
	 * @param <K> the type of record keys
	 * @param <V> the type of record values
	 */
	<K, V> void install(AbstractMessageListenerContainer<K, V> container) {
		installListener(container);
		this.blockedRecords.install(container, this.listeners::failed);
	}

	@SuppressWarnings("unchecked")
	private <K, V> void installListener(AbstractMessageListenerContainer<K, V> container) {
		Object listener = listener(container);
		if (listener instanceof DeliveryListener<?, ?> || listener instanceof BatchDeliveryListener<?, ?>) {
			return;
		}
		container.setupMessageListener((listener instanceof BatchMessageListener<?, ?> batchListener)
				? new BatchDeliveryListener<>((BatchMessageListener<K, V>) batchListener, this.listeners,
						this.transactional)
				: new DeliveryListener<>((MessageListener<K, V>) listener, this.listeners, this.transactional));
	}

	private static Object listener(AbstractMessageListenerContainer<?, ?> container) {
		return Objects.requireNonNull(
				ContainerProtection.target(container.getContainerProperties().getMessageListener()),
				"A container has a listener when it is registered");
	}

	private static @Nullable KafkaAwareTransactionManager<?, ?> manager(
			AbstractMessageListenerContainer<?, ?> container) {
		return container.getContainerProperties().getKafkaAwareTransactionManager();
	}

}
