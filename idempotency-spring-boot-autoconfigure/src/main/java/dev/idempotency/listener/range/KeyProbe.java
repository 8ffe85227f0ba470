package dev.idempotency.listener.range;

import java.util.HashMap;
import java.util.Map;

import org.aopalliance.intercept.MethodInvocation;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.springframework.core.KotlinDetector;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.kafka.listener.BatchMessageListener;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.kafka.support.KafkaUtils;

import dev.idempotency.OperationRejectedException;
import dev.idempotency.listener.delivery.DeliveryListener;
import dev.idempotency.listener.delivery.ListenerSettings;
import dev.idempotency.listener.delivery.ProtectedListeners;
import dev.idempotency.listener.delivery.ProtectedListeners.ProtectedListener;
import dev.idempotency.listener.key.OffsetPositions;
import dev.idempotency.listener.key.OperationResolver;
import dev.idempotency.listener.method.IdempotentAdvisor;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.IdempotentOperation;

/**
 * Finds out to which operation a listener resolves a record, without running the method:
 * the record is passed to the listener adapter, which filters and converts it, and the
 * advice of the method resolves its operation and returns. Used by one thread.
 */
final class KeyProbe {

	private static final Acknowledgment NO_ACKNOWLEDGMENT = () -> {
	};

	private final ProtectedListeners listeners;

	private final @Nullable String group;

	private final OffsetPositions positions;

	private final Map<ProtectedListener, OperationResolver> resolvers = new HashMap<>();

	private @Nullable ConsumerRecord<?, ?> record;

	private @Nullable Answer answer;

	KeyProbe(ProtectedListeners listeners, @Nullable String group, OffsetPositions positions) {
		this.listeners = listeners;
		this.group = group;
		this.positions = positions;
	}

	Answer resolve(ConsumerRecord<?, ?> probed, DeliveryListener<?, ?> listener, Consumer<?, ?> consumer) {
		this.record = probed;
		this.answer = null;
		boolean batch = listener instanceof BatchMessageListener<?, ?>;
		IdempotentAdvisor.PROBE.set((invocation) -> reached(invocation, batch));
		KafkaUtils.setConsumerGroupId(this.group);
		try {
			listener.probe(probed, NO_ACKNOWLEDGMENT, consumer);
		}
		catch (ReachedSignal ex) {
			// The operation is resolved.
		}
		catch (RuntimeException ex) {
			// Advice around the method may have replaced the signal.
			if (this.answer == null) {
				return new Answer(null, null, "the record cannot be converted for the listener method: " + type(ex));
			}
		}
		finally {
			KafkaUtils.clearConsumerGroupId();
			IdempotentAdvisor.PROBE.remove();
			this.record = null;
		}
		// The filter of the container excludes the record if the method was not reached.
		return (this.answer != null) ? this.answer : Answer.UNPROTECTED;
	}

	private @Nullable Object reached(MethodInvocation invocation, boolean batch) {
		ProtectedListener listener = this.listeners.get(invocation.getMethod());
		this.answer = (listener != null && this.record != null)
				? resolve(listener, this.record, invocation.getArguments(), batch) : Answer.UNPROTECTED;
		if (KotlinDetector.isSuspendingFunction(invocation.getMethod())) {
			// The adapter would retry a function that fails.
			return null;
		}
		throw new ReachedSignal();
	}

	private Answer resolve(ProtectedListener listener, ConsumerRecord<?, ?> reached, @Nullable Object[] arguments,
			boolean batch) {
		ListenerSettings settings = listener.settings();
		OperationResolver resolver = this.resolvers.computeIfAbsent(listener,
				(key) -> settings.operations().silent(this.positions));
		try {
			IdempotentOperation operation = (batch ? resolver.resolve(reached, arguments, 0)
					: resolver.resolve(reached, arguments))
				.operation();
			return (operation != null) ? new Answer(settings.template(), operation, null) : Answer.UNPROTECTED;
		}
		catch (OperationRejectedException ex) {
			return new Answer(null, null, String.valueOf(ex.getMessage()));
		}
		catch (RuntimeException ex) {
			return new Answer(null, null, "the operation of the record cannot be resolved: " + type(ex));
		}
	}

	// The messages of other exceptions may quote the payload.
	private static String type(RuntimeException ex) {
		return NestedExceptionUtils.getMostSpecificCause(ex).getClass().getName();
	}

	/**
	 * The operation of a record.
	 *
	 * @param template executes the operation, {@code null} if there is none
	 * @param operation the operation, {@code null} if there is none
	 * @param problem the reason why the operation cannot be resolved, {@code null} if it
	 * is, or if the listener does not protect the record
	 */
	record Answer(@Nullable IdempotencyTemplate template, @Nullable IdempotentOperation operation,
			@Nullable String problem) {

		static final Answer UNPROTECTED = new Answer(null, null, null);

	}

	/**
	 * Leaves the method. It is an error, because the listener adapter passes each
	 * exception to the {@code KafkaListenerErrorHandler} of the application.
	 */
	@SuppressWarnings("serial")
	private static final class ReachedSignal extends Error {

		ReachedSignal() {
			super("The method was reached", null, false, false);
		}

	}

}
