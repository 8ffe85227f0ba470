package dev.idempotency.listener;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

import org.aopalliance.intercept.MethodInvocation;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.kafka.listener.BatchListenerFailedException;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.OperationNotAcknowledgedException;
import dev.idempotency.listener.error.ExceptionCauses;
import dev.idempotency.store.Claim;
import dev.idempotency.template.BatchHandler;
import dev.idempotency.template.BatchItem;
import dev.idempotency.template.IdempotentOperation;
import dev.idempotency.template.PendingCompletion;

/**
 * Calls the method of a batch listener with the records that are due.
 */
final class BatchCall implements BatchHandler<Object> {

	private final MethodInvocation invocation;

	private final Delivery delivery;

	private final @Nullable AcknowledgmentCheck check;

	private final boolean deferring;

	private final List<BatchItem> items;

	private List<Integer> due = List.of();

	private @Nullable BatchAcknowledgment acknowledgment;

	private @Nullable Object returned;

	private Duration sleep = Duration.ZERO;

	BatchCall(MethodInvocation invocation, Delivery delivery, @Nullable AcknowledgmentCheck check, boolean deferring,
			List<BatchItem> items) {
		this.check = check;
		this.deferring = deferring;
		this.items = items;
		this.invocation = invocation;
		this.delivery = delivery;
	}

	/**
	 * What the method itself has returned.
	 * @return the value, {@code null} if it was not called
	 */
	@Nullable Object returned() {
		return this.returned;
	}

	/**
	 * How long the method wants to wait before it gets again what it has not
	 * acknowledged.
	 * @return the time
	 */
	Duration sleep() {
		return this.sleep;
	}

	@Nullable BatchAcknowledgment acknowledgment() {
		return this.acknowledgment;
	}

	@Override
	@SuppressWarnings("unchecked")
	public @Nullable List<@Nullable Object> handle(List<Integer> parts) throws Throwable {
		this.due = parts;
		BatchAcknowledgment own = BatchAcknowledgment.of(this.delivery.acknowledgment(), parts,
				this.delivery.records());
		this.acknowledgment = own;
		@Nullable Object[] arguments = BatchArguments.keep(this.invocation.getArguments(), parts, this.delivery.records().size(),
				own);
		// Transactional mode may call it again.
		this.returned = ((ProxyMethodInvocation) this.invocation).invocableClone(arguments).proceed();
		if (own != null && own.nacked() >= 0) {
			this.sleep = own.sleep();
			throw new NackedException();
		}
		if (this.check != null && own != null && !own.isAcknowledged() && this.delivery.isUnacknowledged()) {
			ConsumerRecord<?, ?> first = this.delivery.records().get(parts.get(own.acknowledged() + 1));
			throw this.check
				.failure("topic " + first.topic() + ", partition " + first.partition() + ", offset " + first.offset());
		}
		return (this.returned instanceof List<?> list) ? (List<@Nullable Object>) list : null;
	}

	@Override
	public int failedAt(Throwable error) {
		if (error instanceof NackedException && this.acknowledgment != null) {
			return this.acknowledgment.nacked();
		}
		if (error instanceof OperationNotAcknowledgedException && this.acknowledgment != null) {
			return this.acknowledgment.acknowledged() + 1;
		}
		BatchListenerFailedException failed = indexed(error);
		if (failed == null) {
			return -1;
		}
		ConsumerRecord<?, ?> record = failed.getRecord();
		return (record != null) ? position(record) : failed.getIndex();
	}

	// The container commits what has not been thrown.
	@Override
	public boolean isCommitted(Throwable error) {
		return error instanceof NackedException;
	}

	// The claim would be that of the earlier record, and could wait for this one.
	@Override
	public Claim.@Nullable Completed known(int part, IdempotentOperation operation) {
		DeliveryAcknowledgment delivered = this.delivery.acknowledgment();
		PendingCompletion original = (this.deferring && delivered != null) ? delivered.original(operation.key()) : null;
		return (original != null) ? original.find(operation.key(), operation.fingerprint()) : null;
	}

	@Override
	public int completed(int count) {
		BatchAcknowledgment own = this.acknowledgment;
		return (!this.deferring || own == null || !this.delivery.isUnacknowledged()) ? count : own.acknowledged() + 1;
	}

	@Override
	public void defer(List<Integer> parts, List<? extends PendingCompletion> pending) {
		Map<Integer, ConsumerRecord<?, ?>> records = new LinkedHashMap<>();
		List<IdempotencyKey> keys = new ArrayList<>();
		for (int part : parts) {
			records.put(part, this.delivery.records().get(part));
			keys.add(Objects.requireNonNull(this.items.get(part).operation()).key());
		}
		Objects.requireNonNull(this.delivery.acknowledgment()).defer(records, keys, pending);
	}

	private int position(ConsumerRecord<?, ?> record) {
		for (int i = 0; i < this.due.size(); i++) {
			ConsumerRecord<?, ?> candidate = this.delivery.records().get(this.due.get(i));
			if (candidate.offset() == record.offset() && candidate.partition() == record.partition()
					&& candidate.topic().equals(record.topic())) {
				return i;
			}
		}
		return -1;
	}

	static @Nullable BatchListenerFailedException indexed(Throwable error) {
		return ExceptionCauses.find(BatchListenerFailedException.class, error);
	}

}
