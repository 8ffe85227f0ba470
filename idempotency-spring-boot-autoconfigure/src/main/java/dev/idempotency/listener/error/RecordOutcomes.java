package dev.idempotency.listener.error;

import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * What the error handling of a container tells its listeners about a record, and asks
 * them.
 */
public interface RecordOutcomes {

	void failed(ConsumerRecord<?, ?> record);

	// The offset of the record is committed without an acknowledgment.
	default void recovered(ConsumerRecord<?, ?> record) {
	}

	// Whether a commit of its offset would pass an unacknowledged record.
	default boolean isBehindUnacknowledged(ConsumerRecord<?, ?> record) {
		return false;
	}

}
