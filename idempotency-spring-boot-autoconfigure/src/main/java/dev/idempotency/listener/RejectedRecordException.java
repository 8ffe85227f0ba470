package dev.idempotency.listener;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.kafka.listener.BatchListenerFailedException;

import dev.idempotency.OperationRejectedException;

/**
 * A record of a batch can never be processed as it is; what comes before it is done.
 */
@SuppressWarnings("serial")
final class RejectedRecordException extends BatchListenerFailedException {

	RejectedRecordException(OperationRejectedException reason, ConsumerRecord<?, ?> record) {
		super(String.valueOf(reason.getMessage()), reason, record);
	}

}
