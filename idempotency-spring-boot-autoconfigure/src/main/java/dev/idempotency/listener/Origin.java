package dev.idempotency.listener;

import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * Where an operation comes from, for people; the text is made only when it is needed. It
 * does not hold the record, because it is kept while a completion is pending.
 *
 * @param listener the name of the listener
 * @param topic the topic of the record
 * @param partition its partition
 * @param offset its offset
 */
record Origin(String listener, String topic, int partition, long offset) {

	static Origin of(String listener, ConsumerRecord<?, ?> record) {
		return new Origin(listener, record.topic(), record.partition(), record.offset());
	}

	@Override
	public String toString() {
		return "listener " + this.listener + ", topic " + this.topic + ", partition " + this.partition + ", offset "
				+ this.offset;
	}

}
