package dev.idempotency.listener;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Set;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.jspecify.annotations.Nullable;

/**
 * The topic, partition, offset and timestamp of a record as text. Spring Kafka keeps
 * those of the original in headers of the records of retry and dead-letter topics. The
 * timestamp tells a topic from an earlier one of the same name.
 */
final class RecordCoordinates {

	// Written by retry topics, and by a DeadLetterPublishingRecoverer on its own.
	private static final String[] FAMILIES = { "kafka_original-", "kafka_dlt-original-" };

	private RecordCoordinates() {
	}

	/**
	 * The coordinates of a record.
	 * @param record the record
	 * @return its own coordinates, whatever its headers say
	 */
	static String key(ConsumerRecord<?, ?> record) {
		return key(record.topic(), record.partition(), record.offset(), record.timestamp());
	}

	/**
	 * The coordinates of the record of which a record is a copy.
	 * @param record the record
	 * @param topics the topics that the original may come from
	 * @return the coordinates in the headers, {@code null} if the headers are incomplete
	 * or name another topic
	 */
	static @Nullable String original(ConsumerRecord<?, ?> record, Set<String> topics) {
		for (String family : FAMILIES) {
			String topic = topic(record.headers(), family);
			String original = (topic != null && topics.contains(topic)) ? original(record.headers(), family, topic)
					: null;
			if (original != null) {
				return original;
			}
		}
		return null;
	}

	/**
	 * The topic of the record of which a record is a copy.
	 * @param record the record
	 * @param topics the topics that the original may come from
	 * @return the topic, {@code null} if the headers name none of them
	 */
	static @Nullable String originalTopic(ConsumerRecord<?, ?> record, Set<String> topics) {
		for (String family : FAMILIES) {
			String topic = topic(record.headers(), family);
			if (topic != null && topics.contains(topic)) {
				return topic;
			}
		}
		return null;
	}

	private static @Nullable String topic(Headers headers, String family) {
		byte[] topic = first(headers, family + "topic");
		return (topic != null) ? new String(topic, StandardCharsets.UTF_8) : null;
	}

	private static @Nullable String original(Headers headers, String family, String topic) {
		byte[] partition = first(headers, family + "partition");
		byte[] offset = first(headers, family + "offset");
		byte[] timestamp = first(headers, family + "timestamp");
		if (partition == null || partition.length != Integer.BYTES || offset == null || offset.length != Long.BYTES
				|| timestamp == null || timestamp.length != Long.BYTES) {
			return null;
		}
		return key(topic, ByteBuffer.wrap(partition).getInt(), ByteBuffer.wrap(offset).getLong(),
				ByteBuffer.wrap(timestamp).getLong());
	}

	// The first: a second failure appends another.
	private static byte @Nullable [] first(Headers headers, String name) {
		for (Header header : headers.headers(name)) {
			return header.value();
		}
		return null;
	}

	private static String key(String topic, int partition, long offset, long timestamp) {
		return topic + "-" + partition + "-" + offset + "@" + timestamp;
	}

}
