package dev.idempotency.listener;

import java.util.Map;

import org.apache.commons.logging.LogFactory;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.serialization.Deserializer;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.BeanUtils;
import org.springframework.core.log.LogAccessor;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.support.serializer.SerializationUtils;
import org.springframework.util.Assert;
import org.springframework.util.ClassUtils;

/**
 * Deserializes single records as the consumers of a container do, so that one that cannot
 * be deserialized does not end the reading of its partition.
 */
final class RecordDeserializer {

	private static final LogAccessor logger = new LogAccessor(LogFactory.getLog(RecordDeserializer.class));

	private final Deserializer<?> keys;

	private final Deserializer<?> values;

	RecordDeserializer(ConsumerFactory<?, ?> factory, Map<String, Object> properties) {
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
	 * Deserialize a record. Returns {@code null} if that is not possible.
	 */
	@Nullable ConsumerRecord<?, ?> deserialize(ConsumerRecord<byte[], byte[]> bytes) {
		Object key;
		Object value;
		try {
			key = deserialize(this.keys, bytes, bytes.key());
			value = deserialize(this.values, bytes, bytes.value());
		}
		catch (RuntimeException ex) {
			return null;
		}
		ConsumerRecord<?, ?> record = new ConsumerRecord<>(bytes.topic(), bytes.partition(), bytes.offset(),
				bytes.timestamp(), bytes.timestampType(), bytes.serializedKeySize(), bytes.serializedValueSize(), key,
				value, bytes.headers(), bytes.leaderEpoch());
		boolean failed = (key == null && hasError(record, SerializationUtils.KEY_DESERIALIZER_EXCEPTION_HEADER))
				|| (value == null && hasError(record, SerializationUtils.VALUE_DESERIALIZER_EXCEPTION_HEADER));
		return failed ? null : record;
	}

	private static @Nullable Object deserialize(Deserializer<?> deserializer, ConsumerRecord<?, ?> record,
			byte @Nullable [] bytes) {
		Headers headers = record.headers();
		return (bytes != null) ? deserializer.deserialize(record.topic(), headers, bytes) : null;
	}

	// An ErrorHandlingDeserializer returns null and adds the error as a header.
	private static boolean hasError(ConsumerRecord<?, ?> record, String header) {
		return SerializationUtils.getExceptionFromHeader(record, header, logger) != null;
	}

}
