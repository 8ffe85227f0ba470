package dev.idempotency.listener;

import java.lang.reflect.Method;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.template.PendingCompletion;

/**
 * One hand-over of a record or a batch to a listener, bound to the thread of the
 * container.
 */
final class Delivery {

	private static final ThreadLocal<@Nullable Delivery> CURRENT = new ThreadLocal<>();

	private final ProtectedListeners listeners;

	// A filter may take some out before the method is called.
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
		// Removing it would make the thread allocate an entry for each record.
		CURRENT.set(delivery);
		return previous;
	}

	// The application may have put a listener of its own around one that is protected.
	// That listener may swallow exceptions.
	static void unbind(Delivery delivery, @Nullable Delivery previous) {
		CURRENT.set(previous);
		if (previous != null && delivery.blocked != null) {
			previous.block(delivery.blocked);
		}
	}

	/**
	 * Whether the method that has just returned on this thread has set the transaction of
	 * its own {@code @Transactional} to rollback-only. Asked once for each call.
	 * @return whether its writes are to be rolled back
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
	 * What the method is about to get, whatever it does to its arguments.
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
	 * The protected method begins: its acknowledgment takes effect only after its
	 * completion.
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
			this.acknowledgment.letGo();
		}
	}

	/**
	 * Whether the method that has returned may still acknowledge its record.
	 * @return whether it has not done so
	 */
	boolean isUnacknowledged() {
		return this.acknowledgment != null && !this.acknowledgment.isAcknowledged();
	}

	void defer(PendingCompletion pending) {
		Objects.requireNonNull(this.acknowledgment)
			.defer(Map.of(0, record()), List.of(Objects.requireNonNull(this.key)), List.of(pending));
	}

	boolean isCopyOfUnacknowledged(IdempotencyKey copied) {
		return this.acknowledgment != null && this.acknowledgment.isCopyOfUnacknowledged(copied);
	}

	/**
	 * Complete records whose offsets are committed although an earlier record of their
	 * partitions may not be acknowledged.
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
			this.acknowledgment.refuse(true);
		}
	}

	// A retry around the method calls it again in the same delivery.
	void unblock() {
		this.blocked = null;
		if (this.acknowledgment != null) {
			this.acknowledgment.refuse(false);
		}
	}

	@Nullable RuntimeException blocked() {
		return this.blocked;
	}

	boolean isBlockedBy(RuntimeException exception) {
		return this.blocked == exception;
	}

	// An error handler of the listener may have swallowed it: the record must not be
	// acknowledged all the same.
	void rethrowIfBlocked() {
		if (this.blocked != null) {
			throw this.blocked;
		}
	}

}
