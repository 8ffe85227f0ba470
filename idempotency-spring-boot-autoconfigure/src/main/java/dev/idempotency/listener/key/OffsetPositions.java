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

	// On the thread of the consumer.
	OffsetPosition of(ConsumerRecord<?, ?> record);

}
