package dev.idempotency.listener;

import java.time.Duration;
import java.util.Objects;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.util.Assert;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.PendingCompletion;

/**
 * The acknowledgment of a record, in the manual modes. What the method says while it runs
 * takes effect when its completion is recorded: an offset that is committed before would
 * lose the record with a crash in between. When the method fails, it has not been said.
 */
final class DeliveryAcknowledgment implements Acknowledgment {

	private final Acknowledgment delegate;

	private final @Nullable ConsumerRecord<?, ?> record;

	private final UnacknowledgedRecords unacknowledged;

	// The method has returned without acknowledging it.
	private volatile UnacknowledgedRecords.@Nullable Waiting waiting;

	private volatile boolean held;

	private volatile boolean acknowledged;

	private volatile boolean nacked;

	private volatile boolean refused;

	private DeliveryAcknowledgment(Acknowledgment delegate, @Nullable ConsumerRecord<?, ?> record,
			UnacknowledgedRecords unacknowledged) {
		this.delegate = delegate;
		this.record = record;
		this.unacknowledged = unacknowledged;
	}

	static @Nullable DeliveryAcknowledgment of(@Nullable Acknowledgment delegate) {
		return (delegate != null) ? new DeliveryAcknowledgment(delegate, null, UnacknowledgedRecords.NONE) : null;
	}

	static @Nullable DeliveryAcknowledgment of(@Nullable Acknowledgment delegate, ConsumerRecord<?, ?> record,
			UnacknowledgedRecords unacknowledged) {
		return (delegate != null) ? new DeliveryAcknowledgment(delegate, record, unacknowledged) : null;
	}

	void hold() {
		this.acknowledged = false;
		this.held = true;
	}

	/**
	 * The operation has completed, now or before.
	 * @param duplicate whether the method, which would have acknowledged it, did not run
	 */
	void completed(boolean duplicate) {
		this.held = false;
		if (this.acknowledged || (duplicate && !isBehindUnacknowledged())) {
			passOn();
		}
	}

	private boolean isBehindUnacknowledged() {
		return this.record != null && this.unacknowledged.holdDuplicate(this.record, this.delegate);
	}

	private void passOn() {
		if (this.record != null) {
			this.unacknowledged.acknowledge(this.record, this.delegate, this.waiting);
		}
		else {
			this.delegate.acknowledge();
		}
	}

	void defer(IdempotencyKey key, PendingCompletion pending) {
		this.waiting = this.unacknowledged.hold(Objects.requireNonNull(this.record), this.delegate, key, pending);
	}

	/**
	 * Whether the same operation has run for an earlier record of the partition, which
	 * the method has not acknowledged yet. This record then waits for that
	 * acknowledgment.
	 * @param key the key of the operation
	 * @return whether this record is a copy of one that waits
	 */
	boolean isCopyOfUnacknowledged(IdempotencyKey key) {
		return this.record != null && this.unacknowledged.holdCopy(this.record, this.delegate, key);
	}

	boolean isAcknowledged() {
		return this.acknowledged;
	}

	void letGo() {
		this.held = false;
	}

	// The record has to come again, whatever an error handler says.
	void refuse(boolean refuse) {
		this.refused = refuse;
	}

	boolean isNacked() {
		return this.nacked;
	}

	@Override
	public void acknowledge() {
		this.acknowledged = true;
		if (!this.held && !this.refused) {
			passOn();
		}
	}

	@Override
	public void nack(Duration sleep) {
		this.delegate.nack(sleep);
		this.nacked = true;
	}

	@Override
	public void acknowledge(int index) {
		checkIndex();
		if (!this.refused) {
			this.delegate.acknowledge(index);
		}
	}

	@Override
	public void nack(int index, Duration sleep) {
		checkIndex();
		this.delegate.nack(index, sleep);
		this.nacked = true;
	}

	// An index counts what was delivered, not what the method has got.
	private void checkIndex() {
		Assert.state(!this.held, "Take the Acknowledgment as a parameter: that of a header does not know the indexes");
	}

	@Override
	public boolean isOutOfOrderCommit() {
		return this.delegate.isOutOfOrderCommit();
	}

	@Override
	public String toString() {
		return this.delegate.toString();
	}

}
