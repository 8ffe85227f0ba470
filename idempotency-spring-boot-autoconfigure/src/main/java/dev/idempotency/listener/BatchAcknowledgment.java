package dev.idempotency.listener;

import java.time.Duration;
import java.util.List;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.util.Assert;

/**
 * The acknowledgment that the method of a batch sees, in the manual modes: its indexes
 * are those of the records that the method has got, and what it says takes effect when
 * their completion is recorded.
 */
final class BatchAcknowledgment implements Acknowledgment {

	private static final int NONE = -1;

	private final DeliveryAcknowledgment delegate;

	private final List<Integer> due;

	private final List<? extends ConsumerRecord<?, ?>> records;

	private volatile int acknowledged = NONE;

	private volatile int nacked = NONE;

	private volatile Duration sleep = Duration.ZERO;

	private volatile boolean completed;

	private volatile int passed = NONE;

	private volatile boolean heldBack;

	BatchAcknowledgment(DeliveryAcknowledgment delegate, List<Integer> due,
			List<? extends ConsumerRecord<?, ?>> records) {
		this.delegate = delegate;
		this.records = records;
		this.due = due;
	}

	boolean isAcknowledged() {
		return this.acknowledged == this.due.size() - 1;
	}

	/**
	 * The position of the last record that the method has acknowledged.
	 * @return the position among those that it has got, -1 if there is none
	 */
	int acknowledged() {
		return this.acknowledged;
	}

	/**
	 * The position of the first record that the method wants again.
	 * @return the position among those that it has got, -1 if there is none
	 */
	int nacked() {
		return this.nacked;
	}

	/**
	 * Everything in the batch is done.
	 */
	void completed() {
		this.completed = true;
		if (this.acknowledged != NONE) {
			passOn();
		}
	}

	Duration sleep() {
		return this.sleep;
	}

	/**
	 * Records of the batch wait, and what is not done is redelivered. What the method
	 * acknowledges from now on is completed; its offsets are committed with those of
	 * later records.
	 */
	void heldBack() {
		this.heldBack = true;
		if (this.acknowledged != NONE) {
			complete();
		}
	}

	private void complete() {
		this.delegate.complete(this.due.subList(0, this.acknowledged + 1).stream().map(this.records::get).toList());
	}

	private void passOn() {
		// What lies between has been done before.
		int end = isAcknowledged() ? this.records.size() : this.due.get(this.acknowledged + 1);
		if (end == this.passed) {
			return;
		}
		// After a partial acknowledgment, that of the rest acknowledges one record.
		boolean whole = end == this.records.size() && this.passed == NONE;
		this.passed = end;
		this.delegate.acknowledge(this.records.subList(0, end), end, whole);
	}

	@Override
	public void acknowledge() {
		acknowledge(this.due.size() - 1);
	}

	@Override
	public void acknowledge(int index) {
		check(index);
		this.acknowledged = Math.max(this.acknowledged, index);
		if (this.completed) {
			passOn();
		}
		else if (this.heldBack) {
			complete();
		}
	}

	@Override
	public void nack(int index, Duration duration) {
		check(index);
		this.sleep = duration;
		this.nacked = index;
	}

	private void check(int index) {
		Assert.isTrue(index >= 0 && index < this.due.size(),
				() -> "The index " + index + " is not one of the " + this.due.size() + " records of the batch");
	}

	@Override
	public boolean isOutOfOrderCommit() {
		return this.delegate.isOutOfOrderCommit();
	}

	static @Nullable BatchAcknowledgment of(@Nullable DeliveryAcknowledgment delegate, List<Integer> due,
			List<? extends ConsumerRecord<?, ?>> records) {
		return (delegate != null) ? new BatchAcknowledgment(delegate, due, records) : null;
	}

}
