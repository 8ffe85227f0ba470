package dev.idempotency.listener;

import java.time.Duration;

import org.jspecify.annotations.Nullable;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.util.Assert;

/**
 * The acknowledgment of a record, in the manual modes. What the method says while it runs
 * takes effect when its completion is recorded: an offset that is committed before would
 * lose the record with a crash in between. When the method fails, it has not been said.
 */
final class DeliveryAcknowledgment implements Acknowledgment {

	private final Acknowledgment delegate;

	private volatile boolean held;

	private volatile boolean acknowledged;

	private volatile boolean nacked;

	private volatile boolean refused;

	private DeliveryAcknowledgment(Acknowledgment delegate) {
		this.delegate = delegate;
	}

	static @Nullable DeliveryAcknowledgment of(@Nullable Acknowledgment delegate) {
		return (delegate != null) ? new DeliveryAcknowledgment(delegate) : null;
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
		if (duplicate || this.acknowledged) {
			this.delegate.acknowledge();
		}
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
			this.delegate.acknowledge();
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
