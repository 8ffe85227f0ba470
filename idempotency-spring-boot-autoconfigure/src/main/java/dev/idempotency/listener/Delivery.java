package dev.idempotency.listener;

import java.lang.reflect.Method;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.listener.ProtectedListeners.ProtectedListener;
import dev.idempotency.template.PendingCompletion;
import dev.idempotency.template.TransactionBoundary.Deferral;

/**
 * One delivery of a record or a batch to a listener, bound to the thread of the
 * container.
 */
final class Delivery {

	/**
	 * Defers the completion of a single record until the method acknowledges the record.
	 */
	static final Deferral UNTIL_ACKNOWLEDGED = new Deferral() {

		@Override
		public boolean isNeeded() {
			Delivery delivery = current();
			return delivery != null && delivery.isUnacknowledged();
		}

		@Override
		public void defer(PendingCompletion pending) {
			Delivery delivery = current();
			if (delivery != null) {
				delivery.defer(pending);
			}
		}

	};

	private static final ThreadLocal<@Nullable Delivery> CURRENT = new ThreadLocal<>();

	private final ProtectedListeners listeners;

	// A filter may remove records before the method is called.
	private List<? extends ConsumerRecord<?, ?>> records;

	private final @Nullable DeliveryAcknowledgment acknowledgment;

	private @Nullable RuntimeException blocked;

	private boolean rollbackOnly;

	private @Nullable IdempotencyKey key;

	Delivery(ProtectedListeners listeners, List<? extends ConsumerRecord<?, ?>> records,
			@Nullable DeliveryAcknowledgment acknowledgment) {
		this.listeners = listeners;
		this.records = records;
		this.acknowledgment = acknowledgment;
	}

	static @Nullable Delivery current() {
		return CURRENT.get();
	}

	static @Nullable Delivery bind(@Nullable Delivery delivery) {
		Delivery previous = CURRENT.get();
		// A removal would make the thread allocate an entry for each record.
		CURRENT.set(delivery);
		return previous;
	}

	// The application may have decorated a protected listener with one of its own, which
	// may swallow exceptions.
	static void unbind(Delivery delivery, @Nullable Delivery previous) {
		CURRENT.set(previous);
		if (previous != null && delivery.blocked != null) {
			previous.block(delivery.blocked);
		}
	}

	/**
	 * Return whether the method that has just returned on this thread has set its own
	 * transaction to rollback-only, and reset the mark.
	 * @return whether its writes are rolled back
	 */
	static boolean takeRollbackOnly() {
		Delivery delivery = CURRENT.get();
		if (delivery == null) {
			return false;
		}
		boolean taken = delivery.rollbackOnly;
		delivery.rollbackOnly = false;
		return taken;
	}

	void setRollbackOnly(boolean rollbackOnly) {
		this.rollbackOnly = rollbackOnly;
	}

	ConsumerRecord<?, ?> record() {
		return this.records.get(0);
	}

	/**
	 * Copy the records that the method is about to receive, because the method may change
	 * its arguments.
	 * @return the records
	 */
	List<? extends ConsumerRecord<?, ?>> freeze() {
		this.records = List.copyOf(this.records);
		return this.records;
	}

	List<? extends ConsumerRecord<?, ?>> records() {
		return this.records;
	}

	@Nullable ProtectedListener listener(Method method) {
		return this.listeners.get(method);
	}

	@Nullable DeliveryAcknowledgment acknowledgment() {
		return this.acknowledgment;
	}

	/**
	 * Begin the protected method: its acknowledgment takes effect after its completion.
	 */
	void begin() {
		if (this.acknowledgment != null) {
			this.acknowledgment.hold();
		}
	}

	void begin(IdempotencyKey operation) {
		this.key = operation;
		begin();
	}

	void completed(boolean duplicate) {
		if (this.acknowledgment != null) {
			this.acknowledgment.completed(duplicate);
		}
	}

	void end() {
		if (this.acknowledgment != null) {
			this.acknowledgment.stopHolding();
		}
	}

	/**
	 * Return whether the method has returned without acknowledging its record.
	 * @return whether it may still do so
	 */
	boolean isUnacknowledged() {
		return this.acknowledgment != null && !this.acknowledgment.isAcknowledged();
	}

	private void defer(PendingCompletion pending) {
		Objects.requireNonNull(this.acknowledgment)
			.defer(Map.of(0, record()), List.of(Objects.requireNonNull(this.key)), List.of(pending));
	}

	/**
	 * Treat the record as a copy of another record whose method has returned but which is
	 * not acknowledged yet. The acknowledgment of the copy waits for that of the
	 * original.
	 * @param copied the key of both
	 * @return whether there is such an original
	 */
	boolean acknowledgeWithOriginal(IdempotencyKey copied) {
		return this.acknowledgment != null && this.acknowledgment.acknowledgeWithOriginal(copied);
	}

	/**
	 * Complete records whose offsets are committed although an earlier record of their
	 * partition may not be acknowledged.
	 * @param covered the records
	 * @return whether all completions are recorded
	 */
	boolean complete(List<? extends ConsumerRecord<?, ?>> covered) {
		return this.acknowledgment == null || this.acknowledgment.complete(covered);
	}

	void checkNotNacked() {
		if (this.acknowledgment != null && this.acknowledgment.isNacked()) {
			throw new NackedException();
		}
	}

	void nack(int index, Duration sleep) {
		if (this.acknowledgment != null) {
			this.acknowledgment.complete(this.records.subList(0, index));
			this.acknowledgment.nack(index, sleep);
		}
	}

	void block(RuntimeException exception) {
		this.blocked = exception;
		if (this.acknowledgment != null) {
			this.acknowledgment.setRefused(true);
		}
	}

	// A retry around the method calls it again in the same delivery.
	void unblock() {
		this.blocked = null;
		if (this.acknowledgment != null) {
			this.acknowledgment.setRefused(false);
		}
	}

	@Nullable RuntimeException blocked() {
		return this.blocked;
	}

	boolean isBlockedBy(RuntimeException exception) {
		return this.blocked == exception;
	}

	// An error handler of the listener may have swallowed the exception. The record must
	// not be acknowledged nevertheless.
	void rethrowIfBlocked() {
		if (this.blocked != null) {
			throw this.blocked;
		}
	}

	/**
	 * Makes the template roll back after a method that has negatively acknowledged its
	 * records. It does not reach the container.
	 */
	@SuppressWarnings("serial")
	static final class NackedException extends RuntimeException {

		NackedException() {
			super("The listener negatively acknowledged the record", null, false, false);
		}

	}

}
