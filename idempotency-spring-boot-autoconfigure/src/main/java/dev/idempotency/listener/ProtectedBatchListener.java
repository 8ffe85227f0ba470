package dev.idempotency.listener;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import org.aopalliance.intercept.MethodInvocation;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;

import dev.idempotency.OperationRejectedException;
import dev.idempotency.template.BatchItem;
import dev.idempotency.template.BatchResult;
import dev.idempotency.template.IdempotencyListener.Outcome;

/**
 * A method that gets a batch. What has to stay in order are the records of a partition.
 */
final class ProtectedBatchListener implements ProtectedListener {

	private final ListenerSettings settings;

	private final @Nullable AcknowledgmentCheck check;

	private final boolean deferring;

	/**
	 * Create a listener.
	 * @param settings what the annotation says
	 * @param check refuses that the method returns without acknowledging its records,
	 * {@code null} if it may
	 * @param deferring whether the completion of a record waits for its acknowledgment
	 */
	ProtectedBatchListener(ListenerSettings settings, @Nullable AcknowledgmentCheck check, boolean deferring) {
		this.check = check;
		this.deferring = deferring;
		this.settings = settings;
	}

	@Override
	public @Nullable Object invoke(MethodInvocation invocation, Delivery delivery) throws Throwable {
		List<? extends ConsumerRecord<?, ?>> records = delivery.freeze();
		@Nullable Object[] arguments = invocation.getArguments();
		BatchArguments.check(arguments, records.size());
		if (records.isEmpty()) {
			return invocation.proceed();
		}
		List<BatchItem> items = new ArrayList<>(records.size());
		boolean[] unprotected = new boolean[records.size()];
		OperationRejectedException rejection = null;
		TopicPartition lane = null;
		for (int i = 0; i < records.size() && rejection == null; i++) {
			ConsumerRecord<?, ?> record = records.get(i);
			// Most of a batch is of one partition.
			if (lane == null || lane.partition() != record.partition() || !lane.topic().equals(record.topic())) {
				lane = new TopicPartition(record.topic(), record.partition());
			}
			try {
				BatchItem item = new BatchItem(this.settings.operations().resolve(record, arguments, i).operation(),
						lane);
				unprotected[i] = item.operation() == null;
				items.add(item);
			}
			catch (OperationRejectedException ex) {
				rejection = ex;
			}
		}
		if (rejection != null && hasKafkaTransaction()) {
			// The transaction will be rolled back.
			throw rejection;
		}
		delivery.begin();
		try {
			// The records before one that is rejected are passed by its error handler.
			BatchCall call = new BatchCall(invocation, delivery, this.check, this.deferring && rejection == null,
					items);
			return execute(call, delivery, items, unprotected, rejection);
		}
		finally {
			delivery.end();
		}
	}

	private @Nullable Object execute(BatchCall call, Delivery delivery, List<BatchItem> items, boolean[] unprotected,
			@Nullable OperationRejectedException rejection) throws Throwable {
		long start = System.nanoTime();
		BatchResult<Object> executed = this.settings.template()
			.executeAll(items, this.settings.mode(), this.settings.codec(), this.settings.boundary(), call);
		tellUnprotected(executed, unprotected, System.nanoTime() - start);
		BatchEnd end = new BatchEnd(delivery, executed, rejection, call, hasKafkaTransaction());
		end.throwIfUndone();
		return end.isNacked() ? null : answer(executed, call);
	}

	private boolean hasKafkaTransaction() {
		return this.settings.boundary().deferral() != null;
	}

	private void tellUnprotected(BatchResult<Object> executed, boolean[] unprotected, long nanos) {
		for (int i = 0; i < executed.results().size(); i++) {
			if (unprotected[i] && executed.results().get(i) != null) {
				this.settings.operations()
					.reportWithoutKey(Outcome.UNPROTECTED, Duration.ofNanos(nanos / unprotected.length));
			}
		}
	}

	// The stored results of duplicates, in their places.
	private @Nullable Object answer(BatchResult<Object> executed, BatchCall call) {
		boolean duplicates = executed.results().stream().anyMatch((one) -> one != null && one.duplicate());
		if (!duplicates || this.settings.codec() == ListenerSettings.NO_RESULT) {
			return call.returned();
		}
		return new ArrayList<>(
				Arrays.asList(executed.results().stream().map((one) -> (one != null) ? one.result() : null).toArray()));
	}

}
