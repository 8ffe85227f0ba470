package dev.idempotency.listener;

import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * Where an operation comes from, for people; the text is made only when it is needed.
 *
 * @param listener the name of the listener
 * @param record the record, whose content stays untold
 */
record Origin(String listener, ConsumerRecord<?, ?> record) {

	@Override
	public String toString() {
		return "listener " + this.listener + ", topic " + this.record.topic() + ", partition " + this.record.partition()
				+ ", offset " + this.record.offset();
	}

}
