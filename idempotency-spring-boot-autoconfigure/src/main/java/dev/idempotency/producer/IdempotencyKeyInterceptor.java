package dev.idempotency.producer;

import java.util.Map;

import org.apache.kafka.clients.producer.ProducerInterceptor;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.header.Headers;
import org.jspecify.annotations.Nullable;
import org.springframework.util.StringUtils;

/**
 * {@link IdempotencyKeys#stamp Stamps} every record that a producer sends without a key.
 * Name it in the producer's {@code interceptor.classes}, or give it to a
 * {@code KafkaTemplate}; nothing installs it by itself.
 * <p>
 * It runs once for each call of {@code send}, so the producer's own retries keep the key.
 * A message that the application sends again as a new record, for example because it
 * missed the answer, gets a new key and takes effect twice: take the key from the
 * business, or stamp a record once and send it, or copies with its headers, again.
 * <p>
 * Left as they are: a CloudEvent, whose source and id are its key, and what Spring Kafka
 * forwards to a retry or dead-letter topic, which has the key of the original record or
 * its coordinates.
 *
 * @param <K> the type of the keys of the records
 * @param <V> the type of their values
 * @since 0.1.0
 */
public class IdempotencyKeyInterceptor<K, V> implements ProducerInterceptor<K, V> {

	/**
	 * Property of the producer: the name of the header for the key;
	 * {@value IdempotencyKeys#HEADER} by default.
	 */
	public static final String HEADER_CONFIG = "idempotency.key.header";

	private String header = IdempotencyKeys.HEADER;

	@Override
	public void configure(Map<String, ?> configs) {
		Object name = configs.get(HEADER_CONFIG);
		if (name == null) {
			return;
		}
		if (!(name instanceof String text) || !StringUtils.hasText(text)) {
			throw new ConfigException(HEADER_CONFIG, name, "It must be the name of a header");
		}
		this.header = text;
	}

	@Override
	public ProducerRecord<K, V> onSend(ProducerRecord<K, V> record) {
		return isNamed(record.headers()) ? record : IdempotencyKeys.stamp(record, this.header);
	}

	// The receiver prefers the header: it would hide the name that stays the same.
	private static boolean isNamed(Headers headers) {
		return (IdempotencyKeys.has(headers, "ce_source") && IdempotencyKeys.has(headers, "ce_id"))
				|| IdempotencyKeys.has(headers, "kafka_original-offset")
				|| IdempotencyKeys.has(headers, "kafka_dlt-original-offset");
	}

	@Override
	public void onAcknowledgement(@Nullable RecordMetadata metadata, @Nullable Exception exception) {
	}

	@Override
	public void close() {
	}

}
