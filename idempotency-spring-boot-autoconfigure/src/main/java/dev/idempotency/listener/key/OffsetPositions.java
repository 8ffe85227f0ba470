package dev.idempotency.listener.key;

import org.apache.kafka.clients.consumer.ConsumerRecord;

import dev.idempotency.template.OffsetPosition;

/**
 * Supplies the position of a record that is recognized by its offset.
 *
 * @since 0.1.0
 */
@FunctionalInterface
public interface OffsetPositions {

	/**
	 * Return the position of a record, on the thread of its consumer.
	 * @param record the record
	 * @return its position
	 */
	OffsetPosition of(ConsumerRecord<?, ?> record);

}
