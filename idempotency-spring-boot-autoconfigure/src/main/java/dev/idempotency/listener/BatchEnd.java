package dev.idempotency.listener;

import java.util.List;
import java.util.stream.IntStream;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.KafkaException;
import org.springframework.kafka.listener.BatchListenerFailedException;

import dev.idempotency.OperationRejectedException;
import dev.idempotency.listener.error.PartialBatchException;
import dev.idempotency.listener.error.RejectedRecordException;
import dev.idempotency.template.BatchResult;

/**
 * Tells the container what came of a batch.
 */
final class BatchEnd {

	private static final Log logger = LogFactory.getLog(BatchEnd.class);

	private final Delivery delivery;

	private final BatchResult<Object> executed;

	private final @Nullable OperationRejectedException rejection;

	private final BatchCall call;

	private final boolean transactional;

	/**
	 * Create an end.
	 * @param delivery what was delivered
	 * @param executed what came of it
	 * @param rejection why the record behind the last one that was executed was not, if
	 * there is one
	 * @param call the call of the method
	 * @param transactional whether everything comes again after an error
	 */
	BatchEnd(Delivery delivery, BatchResult<Object> executed, @Nullable OperationRejectedException rejection,
			BatchCall call, boolean transactional) {
		this.delivery = delivery;
		this.executed = executed;
		this.rejection = rejection;
		this.call = call;
		this.transactional = transactional;
	}

	boolean isNacked() {
		return this.executed.failure() instanceof NackedException;
	}

	/**
	 * Throw what makes the container deliver again what is not done, or acknowledge.
	 * @throws Throwable what the method threw, at the record that failed
	 */
	void throwIfUndone() throws Throwable {
		BatchAcknowledgment acknowledgment = this.call.acknowledgment();
		Throwable failure = this.executed.failure();
		if (!this.executed.blocked().isEmpty()) {
			throw heldBack(acknowledgment, failure);
		}
		if (failure instanceof NackedException) {
			this.delivery.end();
			this.delivery.nack(this.executed.failedAt(), this.call.sleep());
		}
		else if (failure != null) {
			throw failed(failure, this.executed.failedAt());
		}
		else if (this.rejection != null) {
			throw failed(this.rejection, this.executed.results().size());
		}
		else {
			// A method that did not run could not acknowledge them.
			this.delivery.completed(acknowledgment == null);
			if (acknowledgment != null) {
				acknowledgment.completed();
			}
		}
	}

	private PartialBatchException heldBack(@Nullable BatchAcknowledgment acknowledgment, @Nullable Throwable failure) {
		boolean acknowledged = isCommitted(acknowledgment);
		if (acknowledgment != null) {
			acknowledgment.heldBack();
		}
		PartialBatchException held = new PartialBatchException(this.executed.blocked().values().iterator().next(),
				acknowledged);
		List<? extends ConsumerRecord<?, ?>> records = this.delivery.records();
		for (int i = 0; i < records.size(); i++) {
			if (i >= this.executed.results().size() || this.executed.results().get(i) == null) {
				held.addUnprocessed(records.get(i));
			}
		}
		this.executed.blocked().forEach((index, reason) -> held.addBlocked(records.get(index), reason));
		if (failure != null && !(failure instanceof NackedException)) {
			logger.warn(
					"A batch failed of which other records wait; what is not done comes again: " + held.getMessage(),
					failure);
		}
		this.delivery.block(held);
		return held;
	}

	// Whether offsets of what is done may be committed.
	private boolean isCommitted(@Nullable BatchAcknowledgment acknowledgment) {
		DeliveryAcknowledgment delivered = this.delivery.acknowledgment();
		if (delivered == null) {
			return true;
		}
		if (acknowledgment == null) {
			return !delivered.isBehindUnacknowledged();
		}
		return acknowledgment.isAcknowledged() && this.delivery.complete(done());
	}

	private List<? extends ConsumerRecord<?, ?>> done() {
		List<? extends ConsumerRecord<?, ?>> records = this.delivery.records();
		return IntStream.range(0, this.executed.results().size())
			.filter((index) -> this.executed.results().get(index) != null)
			.mapToObj(records::get)
			.toList();
	}

	private Throwable failed(Throwable failure, int index) {
		if (index < 0 || this.transactional) {
			return withoutIndex(failure);
		}
		// The error handler commits the offsets of those before it.
		this.delivery.complete(this.delivery.records().subList(0, index));
		ConsumerRecord<?, ?> record = this.delivery.records().get(index);
		return (failure instanceof OperationRejectedException rejected) ? new RejectedRecordException(rejected, record)
				: new BatchListenerFailedException(String.valueOf(failure.getMessage()), failure, record);
	}

	// An index that names none of the records that the method has got would be taken for
	// one
	// of the delivered batch. In a transaction an error handler that knows the record
	// would
	// commit what comes before it, but its output is rolled back.
	private static Throwable withoutIndex(Throwable failure) {
		BatchListenerFailedException indexed = BatchCall.indexed(failure);
		if (indexed == null) {
			return failure;
		}
		KafkaException whole = new KafkaException("A batch failed as a whole: " + indexed.getMessage(),
				indexed.getCause());
		whole.addSuppressed(failure);
		return whole;
	}

}
