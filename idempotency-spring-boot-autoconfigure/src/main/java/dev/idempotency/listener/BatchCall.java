package dev.idempotency.listener;

import java.time.Duration;
import java.util.List;

import org.aopalliance.intercept.MethodInvocation;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.kafka.listener.BatchListenerFailedException;

import dev.idempotency.BatchHandler;
import dev.idempotency.OperationNotAcknowledgedException;

/**
 * Calls the method of a batch listener with the records that are due.
 */
final class BatchCall implements BatchHandler<Object> {

	private final MethodInvocation invocation;

	private final Delivery delivery;

	private final @Nullable AcknowledgmentCheck check;

	private List<Integer> due = List.of();

	private @Nullable BatchAcknowledgment acknowledgment;

	private @Nullable Object returned;

	private Duration sleep = Duration.ZERO;

	BatchCall(MethodInvocation invocation, Delivery delivery, @Nullable AcknowledgmentCheck check) {
		this.check = check;
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
		BatchAcknowledgment own = BatchAcknowledgment.of(this.delivery.acknowledgment(), parts);
		this.acknowledgment = own;
		@Nullable Object[] arguments = BatchArguments.keep(this.invocation.getArguments(), parts, this.delivery.records().size(),
				own);
		// Transactional mode may call it again.
		this.returned = ((ProxyMethodInvocation) this.invocation).invocableClone(arguments).proceed();
		if (own != null && own.nacked() >= 0) {
			this.sleep = own.sleep();
			throw new NackedException();
		}
		if (this.check != null && own != null && !own.isAcknowledged()) {
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
		return Blocked.find(BatchListenerFailedException.class, error);
	}

}
