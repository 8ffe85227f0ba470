package dev.idempotency.listener;

import java.lang.reflect.Method;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.support.Acknowledgment;

import dev.idempotency.OperationBlockedException;

/**
 * One hand-over of a record to a listener, bound to the thread of the container.
 */
final class Delivery {

	private static final ThreadLocal<@Nullable Delivery> CURRENT = new ThreadLocal<>();

	private final ProtectedListeners listeners;

	private final ConsumerRecord<?, ?> record;

	private final @Nullable Acknowledgment acknowledgment;

	private @Nullable OperationBlockedException blocked;

	Delivery(ProtectedListeners listeners, ConsumerRecord<?, ?> record, @Nullable Acknowledgment acknowledgment) {
		this.listeners = listeners;
		this.record = record;
		this.acknowledgment = acknowledgment;
	}

	static @Nullable Delivery current() {
		return CURRENT.get();
	}

	static @Nullable Delivery bind(@Nullable Delivery delivery) {
		Delivery previous = CURRENT.get();
		// Removing it would make the thread allocate an entry for each record.
		CURRENT.set(delivery);
		return previous;
	}

	ConsumerRecord<?, ?> record() {
		return this.record;
	}

	@Nullable ProtectedListener listener(Method method) {
		return this.listeners.get(method);
	}

	// There is an acknowledgment in the manual modes only, and the method that would have
	// used it does not run for a duplicate.
	void acknowledge() {
		if (this.acknowledgment != null) {
			this.acknowledgment.acknowledge();
		}
	}

	void block(OperationBlockedException exception) {
		this.blocked = exception;
	}

	// An error handler of the listener may have swallowed it: the record must not be
	// acknowledged all the same.
	void rethrowIfBlocked() {
		if (this.blocked != null) {
			throw this.blocked;
		}
	}

}
