package dev.idempotency.listener;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.util.Assert;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.listener.UnacknowledgedRecords.Waiting;
import dev.idempotency.template.PendingCompletion;

/**
 * The acknowledgment of a record, in the manual modes. What the method says while it runs
 * takes effect when its completion is recorded: an offset that is committed before would
 * lose the record with a crash in between. When the method fails, it has not been said.
 */
final class DeliveryAcknowledgment implements Acknowledgment {

	private final Acknowledgment delegate;

	private final long delivery;

	// All that were delivered.
	private final Collection<? extends ConsumerRecord<?, ?>> records;

	private final UnacknowledgedRecords unacknowledged;

	// The method has returned without acknowledging them.
	private volatile Map<Integer, Waiting> waiting = Map.of();

	private volatile boolean held;

	private volatile boolean acknowledged;

	private volatile boolean nacked;

	private volatile boolean refused;

	private DeliveryAcknowledgment(Acknowledgment delegate, Collection<? extends ConsumerRecord<?, ?>> records,
			UnacknowledgedRecords unacknowledged) {
		this.delegate = delegate;
		this.records = records;
		this.unacknowledged = unacknowledged;
		this.delivery = unacknowledged.delivered(records);
	}

	static @Nullable DeliveryAcknowledgment of(@Nullable Acknowledgment delegate,
			Collection<? extends ConsumerRecord<?, ?>> records, UnacknowledgedRecords unacknowledged) {
		return (delegate != null) ? new DeliveryAcknowledgment(delegate, records, unacknowledged) : null;
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
		if (this.acknowledged) {
			passOn();
		}
		else if (duplicate) {
			acknowledgeDuplicates();
		}
	}

	private void acknowledgeDuplicates() {
		if (this.delegate.isOutOfOrderCommit()) {
			this.delegate.acknowledge();
		}
		else {
			this.unacknowledged.acknowledgeDuplicates(this.records, this.delivery, this.delegate::acknowledge);
		}
	}

	private void passOn() {
		this.unacknowledged.acknowledge(this.records, this.delivery, this.waiting.values(),
				this.delegate.isOutOfOrderCommit() && this.records.size() == 1, this.delegate::acknowledge);
	}

	/**
	 * The method has acknowledged a part of its batch, and everything before is done.
	 * @param covered the records that are acknowledged
	 * @param end the index behind the last of them
	 * @param whole whether the whole batch is acknowledged, and no part of it was before
	 */
	void acknowledge(List<? extends ConsumerRecord<?, ?>> covered, int end, boolean whole) {
		if (this.refused) {
			return;
		}
		List<Waiting> own = new ArrayList<>();
		this.waiting.forEach((index, record) -> {
			if (index < end) {
				own.add(record);
			}
		});
		this.unacknowledged.acknowledge(covered, this.delivery, own, false,
				whole ? this.delegate::acknowledge : () -> this.delegate.acknowledge(end - 1));
	}

	/**
	 * Complete records whose offsets are committed by other means.
	 * @param covered the records
	 * @return whether all completions are recorded
	 */
	boolean complete(List<? extends ConsumerRecord<?, ?>> covered) {
		return this.unacknowledged.complete(covered);
	}

	/**
	 * Whether a commit of this delivery would pass a record that waits.
	 * @return whether there is one
	 */
	boolean isBehindUnacknowledged() {
		return this.unacknowledged.isBehind(this.records);
	}

	/**
	 * Keep completions until the records are acknowledged.
	 * @param deferred the records, by their index
	 * @param keys the key of each
	 * @param pending the completion of each
	 */
	void defer(Map<Integer, ? extends ConsumerRecord<?, ?>> deferred, List<IdempotencyKey> keys,
			List<? extends PendingCompletion> pending) {
		Map<Integer, Waiting> more = new LinkedHashMap<>(this.waiting);
		int position = 0;
		for (Map.Entry<Integer, ? extends ConsumerRecord<?, ?>> one : deferred.entrySet()) {
			more.put(one.getKey(), this.unacknowledged.hold(one.getValue(), keys.get(position), pending.get(position)));
			position++;
		}
		this.waiting = more;
	}

	/**
	 * Look up the completion of another record that has the same operation and is not
	 * acknowledged yet.
	 * @param key the key of the operation
	 * @return the completion, {@code null} if there is none
	 */
	@Nullable PendingCompletion original(IdempotencyKey key) {
		Waiting original = this.unacknowledged.original(key);
		return (original != null) ? original.pending() : null;
	}

	/**
	 * Whether the same operation has run for another record, which the method has not
	 * acknowledged yet. This record then waits for that acknowledgment.
	 * @param key the key of the operation
	 * @return whether this record is a copy of one that waits
	 */
	boolean isCopyOfUnacknowledged(IdempotencyKey key) {
		Waiting original = this.unacknowledged.original(key);
		if (original == null) {
			return false;
		}
		this.held = false;
		this.unacknowledged.acknowledgeCopy(this.records, this.delivery, original, this.delegate.isOutOfOrderCommit(),
				this.delegate::acknowledge);
		return true;
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
