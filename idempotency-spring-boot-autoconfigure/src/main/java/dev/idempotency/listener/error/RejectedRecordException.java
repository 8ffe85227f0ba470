package dev.idempotency.listener.error;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.kafka.listener.BatchListenerFailedException;

import dev.idempotency.OperationRejectedException;

/**
 * Reports the record of a batch that was rejected and is not retried. All records before
 * it in the batch are processed.
 */
@SuppressWarnings("serial")
public final class RejectedRecordException extends BatchListenerFailedException {

	public RejectedRecordException(OperationRejectedException reason, ConsumerRecord<?, ?> record) {
		super(String.valueOf(reason.getMessage()), reason, record);
	}

}
