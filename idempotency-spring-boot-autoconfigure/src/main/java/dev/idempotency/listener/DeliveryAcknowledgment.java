package dev.idempotency.listener;

import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.util.Assert;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.listener.ContainerAcknowledgments.UnacknowledgedRecord;
import dev.idempotency.template.PendingCompletion;

/**
 * The acknowledgment of one delivery, in the manual ack modes. An acknowledgment by the
 * running method takes effect when its completion is recorded: an offset that is
 * committed earlier would lose the record in a crash in between. It has no effect when
 * the method fails.
 */
final class DeliveryAcknowledgment implements Acknowledgment {

	private final Acknowledgment delegate;

	private final long delivery;

	private final Collection<? extends ConsumerRecord<?, ?>> records;

	private final ContainerAcknowledgments container;

	// By the index of the record in the delivery.
	private volatile Map<Integer, UnacknowledgedRecord> unacknowledged = Map.of();

	private volatile boolean held;

	private volatile boolean acknowledged;

	private volatile boolean nacked;

	private volatile boolean refused;

	private DeliveryAcknowledgment(Acknowledgment delegate, Collection<? extends ConsumerRecord<?, ?>> records,
			ContainerAcknowledgments container) {
		this.delegate = delegate;
		this.records = records;
		this.container = container;
		this.delivery = container.begin(records);
	}

	static @Nullable DeliveryAcknowledgment of(@Nullable Acknowledgment delegate,
			Collection<? extends ConsumerRecord<?, ?>> records, ContainerAcknowledgments container) {
		return (delegate != null) ? new DeliveryAcknowledgment(delegate, List.copyOf(records), container) : null;
	}

	/**
	 * Hold an acknowledgment of the method, which is about to run.
	 */
	void hold() {
		this.acknowledged = false;
		this.held = true;
	}

	void stopHolding() {
		this.held = false;
	}

	/**
	 * Pass on the acknowledgment of the method, because its operation is completed.
	 * @param duplicate whether the method did not run, so that it could not acknowledge
	 * the record
	 */
	void completed(boolean duplicate) {
		this.held = false;
		if (this.acknowledged) {
			passOn();
		}
		else if (duplicate && this.delegate.isOutOfOrderCommit()) {
			this.delegate.acknowledge();
		}
		else if (duplicate) {
			this.container.acknowledgeDuplicates(this.records, this.delivery, this.delegate::acknowledge);
		}
	}

	private void passOn() {
		this.container.acknowledge(this.records, this.delivery, this.unacknowledged.values(),
				this.delegate.isOutOfOrderCommit() && this.records.size() == 1, this.delegate::acknowledge);
	}

	/**
	 * Acknowledge a part of a batch. All records before it are processed.
	 * @param covered the acknowledged records
	 * @param end the index after the last of them
	 * @param whole whether this is the first acknowledgment and covers the whole batch
	 */
	void acknowledge(List<? extends ConsumerRecord<?, ?>> covered, int end, boolean whole) {
		if (this.refused) {
			return;
		}
		List<UnacknowledgedRecord> own = this.unacknowledged.entrySet()
			.stream()
			.filter((record) -> record.getKey() < end)
			.map(Map.Entry::getValue)
			.toList();
		this.container.acknowledge(covered, this.delivery, own, false,
				whole ? this.delegate::acknowledge : () -> this.delegate.acknowledge(end - 1));
	}

	/**
	 * Complete records whose offsets are committed without an acknowledgment.
	 * @param covered the records
	 * @return whether all completions are recorded
	 */
	boolean complete(List<? extends ConsumerRecord<?, ?>> covered) {
		return this.container.complete(covered);
	}

	/**
	 * Return whether a commit of this delivery would pass an unacknowledged record.
	 * @return whether there is one
	 */
	boolean isBehindUnacknowledged() {
		return this.container.isBehindUnacknowledged(this.records);
	}

	/**
	 * Keep completions until the records are acknowledged.
	 * @param deferred the records, by their index in the delivery
	 * @param keys the key of each record
	 * @param pending the completion of each record
	 */
	void defer(Map<Integer, ? extends ConsumerRecord<?, ?>> deferred, List<IdempotencyKey> keys,
			List<? extends PendingCompletion> pending) {
		Map<Integer, UnacknowledgedRecord> more = new LinkedHashMap<>(this.unacknowledged);
		int position = 0;
		for (Map.Entry<Integer, ? extends ConsumerRecord<?, ?>> one : deferred.entrySet()) {
			more.put(one.getKey(), this.container.add(one.getValue(), keys.get(position), pending.get(position)));
			position++;
		}
		this.unacknowledged = more;
	}

	/**
	 * Look up the pending completion of an unacknowledged record with the same operation.
	 * @param key the key of the operation
	 * @return the completion, {@code null} if there is none
	 */
	@Nullable PendingCompletion original(IdempotencyKey key) {
		UnacknowledgedRecord original = this.container.original(key);
		return (original != null) ? original.pending() : null;
	}

	/**
	 * Acknowledge this record together with an unacknowledged record that has the same
	 * operation.
	 * @param key the key of the operation
	 * @return whether there is such a record
	 */
	boolean acknowledgeWithOriginal(IdempotencyKey key) {
		UnacknowledgedRecord original = this.container.original(key);
		if (original == null) {
			return false;
		}
		this.held = false;
		this.container.acknowledgeCopy(this.records, this.delivery, original, this.delegate.isOutOfOrderCommit(),
				this.delegate::acknowledge);
		return true;
	}

	boolean isAcknowledged() {
		return this.acknowledged;
	}

	// A refused record is redelivered, whatever the application's error handler does.
	void setRefused(boolean refused) {
		this.refused = refused;
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

	// The index counts the delivered records, but the method receives only those that are
	// due.
	private void checkIndex() {
		Assert.state(!this.held, "The Acknowledgment of a header does not support indexes in an idempotent batch "
				+ "listener. Declare an Acknowledgment parameter");
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
