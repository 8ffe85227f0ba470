package dev.idempotency.listener;

import java.util.Objects;

import org.springframework.kafka.listener.AbstractMessageListenerContainer;
import org.springframework.kafka.listener.AfterRollbackProcessor;
import org.springframework.kafka.listener.BatchMessageListener;
import org.springframework.kafka.listener.CommonErrorHandler;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.ExceptionClassifier;
import org.springframework.kafka.listener.MessageListener;
import org.springframework.kafka.transaction.KafkaAwareTransactionManager;
import org.springframework.transaction.ConfigurableTransactionManager;

import dev.idempotency.IdempotencyFingerprintException;
import dev.idempotency.IdempotencyKeyMissingException;
import dev.idempotency.IdempotencyKeyReusedException;
import dev.idempotency.StoredResultUnreadableException;

/**
 * Puts the protection around the listener, the error handler and the after-rollback
 * processor of a container.
 */
final class ContainerInstallation {

	private ContainerInstallation() {
	}

	static <K, V> void install(AbstractMessageListenerContainer<K, V> container, ProtectedListeners listeners,
			PartitionPauses pauses) {
		KafkaAwareTransactionManager<?, ?> manager = container.getContainerProperties()
			.getKafkaAwareTransactionManager();
		container.setupMessageListener(listener(container, listeners, manager != null));
		CommonErrorHandler errorHandler = container.getCommonErrorHandler();
		if (errorHandler == null && manager == null) {
			// What the container would use.
			errorHandler = new DefaultErrorHandler();
		}
		if (errorHandler != null) {
			addRejections(errorHandler);
			container.setCommonErrorHandler(new BlockedAwareErrorHandler(errorHandler, pauses));
		}
		if (manager != null) {
			installTransaction(container, (ConfigurableTransactionManager) manager, pauses);
		}
	}

	@SuppressWarnings("unchecked")
	private static <K, V> Object listener(AbstractMessageListenerContainer<K, V> container,
			ProtectedListeners listeners, boolean transactional) {
		Object listener = Objects.requireNonNull(
				ContainerProtection.target(container.getContainerProperties().getMessageListener()),
				"A container has a listener when it is registered");
		return (listener instanceof BatchMessageListener<?, ?> batch)
				? new BatchDeliveryListener<>((BatchMessageListener<K, V>) batch, listeners, transactional)
				: new DeliveryListener<>((MessageListener<K, V>) listener, listeners, transactional);
	}

	@SuppressWarnings("unchecked")
	private static <K, V> void installTransaction(AbstractMessageListenerContainer<K, V> container,
			ConfigurableTransactionManager manager, PartitionPauses pauses) {
		// Several containers may share a manager.
		if (!manager.getTransactionExecutionListeners().contains(KafkaTransactionCompletions.LISTENER)) {
			manager.addListener(KafkaTransactionCompletions.LISTENER);
		}
		AfterRollbackProcessor<K, V> processor = (AfterRollbackProcessor<K, V>) container.getAfterRollbackProcessor();
		addRejections(processor);
		container.setAfterRollbackProcessor(BlockedAwareAfterRollbackProcessor.around(processor, pauses));
	}

	@SuppressWarnings("unchecked")
	private static void addRejections(Object handler) {
		if (handler instanceof ExceptionClassifier classifier) {
			classifier.addNotRetryableExceptions(IdempotencyFingerprintException.class,
					IdempotencyKeyMissingException.class, IdempotencyKeyReusedException.class,
					StoredResultUnreadableException.class, RejectedRecordException.class);
		}
	}

}
