package dev.idempotency.listener.parked;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Creates consumers that read bytes and are no members of a group, with the connection,
 * the credentials and the isolation of a container's own consumers.
 *
 * @param properties the configuration of the container's consumers
 * @since 0.1.0
 */
public record ByteConsumers(Map<String, Object> properties) {

	/**
	 * How long a consumer waits for the broker.
	 */
	static final Duration TIMEOUT = Duration.ofSeconds(2);

	// Not a whole segment for one record. The broker returns a larger record
	// nevertheless.
	private static final int FETCH_BYTES = 64 * 1024;

	// The range of a topic is read by a thread that may wait.
	private static final Duration RANGE_TIMEOUT = Duration.ofSeconds(15);

	/**
	 * Create a consumer that reads single records.
	 */
	Consumer<byte[], byte[]> create() {
		return create(Map.of(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "none", ConsumerConfig.MAX_POLL_RECORDS_CONFIG, 1,
				ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG, FETCH_BYTES), TIMEOUT);
	}

	/**
	 * Create a consumer that reads many records one after the other. It continues with
	 * the oldest record if the broker deletes records that it is about to read.
	 * @param records the largest number of records of a poll
	 * @return the consumer
	 */
	public Consumer<byte[], byte[]> createForRange(int records) {
		return create(Map.of(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest",
				ConsumerConfig.MAX_POLL_RECORDS_CONFIG, records), RANGE_TIMEOUT);
	}

	private Consumer<byte[], byte[]> create(Map<String, Object> settings, Duration timeout) {
		Map<String, Object> configuration = new HashMap<>(this.properties);
		configuration.keySet()
			.removeAll(java.util.Set.of(ConsumerConfig.GROUP_ID_CONFIG, ConsumerConfig.GROUP_INSTANCE_ID_CONFIG,
					ConsumerConfig.GROUP_PROTOCOL_CONFIG, ConsumerConfig.GROUP_REMOTE_ASSIGNOR_CONFIG,
					ConsumerConfig.CLIENT_ID_CONFIG, ConsumerConfig.INTERCEPTOR_CLASSES_CONFIG,
					ConsumerConfig.METRIC_REPORTER_CLASSES_CONFIG, ConsumerConfig.PARTITION_ASSIGNMENT_STRATEGY_CONFIG,
					ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG, ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG,
					ConsumerConfig.MAX_POLL_INTERVAL_MS_CONFIG, ConsumerConfig.FETCH_MIN_BYTES_CONFIG,
					ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG));
		configuration.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
		configuration.put(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, false);
		configuration.put(ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG, 100);
		configuration.put(ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, (int) timeout.toMillis());
		configuration.put(ConsumerConfig.REQUEST_TIMEOUT_MS_CONFIG, (int) timeout.toMillis());
		configuration.putAll(settings);
		return new KafkaConsumer<>(configuration, new ByteArrayDeserializer(), new ByteArrayDeserializer());
	}

}
