package dev.idempotency.listener.parked;

import java.util.Map;
import java.util.Optional;

import org.apache.commons.logging.LogFactory;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.serialization.Deserializer;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.BeanUtils;
import org.springframework.core.log.LogAccessor;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.support.serializer.DeserializationException;
import org.springframework.kafka.support.serializer.SerializationUtils;
import org.springframework.util.Assert;
import org.springframework.util.ClassUtils;

import dev.idempotency.store.ParkedRecord;

/**
 * Deserializes records as the consumers of a container do. A deserializer may be used by
 * one thread at a time.
 *
 * @since 0.1.0
 */
public final class Deserialization {

	private static final LogAccessor logger = new LogAccessor(LogFactory.getLog(Deserialization.class));

	private final Deserializer<?> keys;

	private final Deserializer<?> values;

	/**
	 * Create a deserialization.
	 * @param factory creates the consumers of the container
	 * @param properties the configuration of the consumers
	 */
	public Deserialization(ConsumerFactory<?, ?> factory, Map<String, Object> properties) {
		Deserializer<?> key = factory.getKeyDeserializer();
		Deserializer<?> value = factory.getValueDeserializer();
		this.keys = (key != null) ? key : create(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, properties, true);
		this.values = (value != null) ? value
				: create(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, properties, false);
	}

	private static Deserializer<?> create(String name, Map<String, Object> properties, boolean key) {
		Object type = properties.get(name);
		Assert.state(type != null, () -> "The property '" + name + "' of the consumer is missing");
		Class<?> resolved = (type instanceof Class<?> known) ? known
				: ClassUtils.resolveClassName(type.toString().trim(), ClassUtils.getDefaultClassLoader());
		Deserializer<?> deserializer = (Deserializer<?>) BeanUtils.instantiateClass(resolved);
		deserializer.configure(properties, key);
		return deserializer;
	}

	/**
	 * Deserialize a message key.
	 */
	synchronized @Nullable Object key(String topic, Headers headers, byte @Nullable [] bytes) {
		return (bytes != null) ? this.keys.deserialize(topic, headers, bytes) : null;
	}

	/**
	 * Deserialize a parked record.
	 */
	Deserialized deserialize(ParkedRecord parked) {
		return deserialize(
				new ConsumerRecord<>(parked.partition().topic(), parked.partition().partition(), parked.offset(),
						parked.timestamp(), type(parked.timestampType()), size(parked.key()), size(parked.value()),
						parked.key(), parked.value(), HeaderBytes.read(parked.headers()), Optional.empty()));
	}

	/**
	 * Deserialize a record. As in the container, an exception of a deserializer is thrown
	 * and does not reach the error handler: a parked record was deserialized when it was
	 * delivered, and giving it up would lose it.
	 * @param bytes the record as the broker holds it
	 * @return the record, and the error that an {@code ErrorHandlingDeserializer} has
	 * added
	 */
	public synchronized Deserialized deserialize(ConsumerRecord<byte[], byte[]> bytes) {
		Headers headers = bytes.headers();
		String topic = bytes.topic();
		Object key = key(topic, headers, bytes.key());
		Object value = (bytes.value() != null) ? this.values.deserialize(topic, headers, bytes.value()) : null;
		ConsumerRecord<?, ?> record = new ConsumerRecord<>(topic, bytes.partition(), bytes.offset(), bytes.timestamp(),
				bytes.timestampType(), bytes.serializedKeySize(), bytes.serializedValueSize(), key, value, headers,
				bytes.leaderEpoch());
		DeserializationException failure = null;
		if (key == null || value == null) {
			failure = SerializationUtils.getExceptionFromHeader(record,
					SerializationUtils.KEY_DESERIALIZER_EXCEPTION_HEADER, logger);
			failure = (failure != null) ? failure : SerializationUtils.getExceptionFromHeader(record,
					SerializationUtils.VALUE_DESERIALIZER_EXCEPTION_HEADER, logger);
		}
		return new Deserialized(record, failure);
	}

	private static int size(byte @Nullable [] bytes) {
		return (bytes != null) ? bytes.length : ConsumerRecord.NULL_SIZE;
	}

	private static TimestampType type(int id) {
		for (TimestampType type : TimestampType.values()) {
			if (type.id == id) {
				return type;
			}
		}
		return TimestampType.NO_TIMESTAMP_TYPE;
	}

	/**
	 * A deserialized record.
	 *
	 * @param record the record
	 * @param failure the error, {@code null} if there is none
	 */
	public record Deserialized(ConsumerRecord<?, ?> record, @Nullable DeserializationException failure) {

	}

}
