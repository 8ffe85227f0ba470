package dev.idempotency.producer;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;

import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.utils.Utils;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.core.ProducerFactory;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.outbox.OutboxHeader;
import dev.idempotency.outbox.OutboxMessage;
import dev.idempotency.outbox.OutboxRow;
import dev.idempotency.outbox.OutboxSerializer;

/**
 * Serialises messages as a producer of a {@link ProducerFactory} does: with its
 * serializers, their configuration, and the headers that they add.
 *
 * @since 0.1.0
 */
public final class KafkaOutboxSerializer implements OutboxSerializer, AutoCloseable {

	private final List<Serializer<?>> own = new ArrayList<>();

	private final Serializer<Object> keys;

	private final Serializer<Object> payloads;

	/**
	 * Create a serializer.
	 * @param factory the factory of the application's {@code KafkaTemplate}
	 */
	public KafkaOutboxSerializer(ProducerFactory<?, ?> factory) {
		Map<String, Object> configuration = factory.getConfigurationProperties();
		this.keys = serializer(factory.getKeySerializer(), configuration, ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG,
				true);
		this.payloads = serializer(factory.getValueSerializer(), configuration,
				ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, false);
	}

	// One that the factory was given is closed by others.

	@SuppressWarnings("unchecked")
	private Serializer<Object> serializer(@Nullable Serializer<?> given, Map<String, Object> configuration,
			String property, boolean key) {
		if (given != null) {
			return (Serializer<Object>) given;
		}
		Object type = configuration.get(property);
		Serializer<Object> serializer;
		try {
			serializer = (type instanceof Class<?> known) ? (Serializer<Object>) Utils.newInstance(known)
					: Utils.newInstance(String.valueOf(type), Serializer.class);
		}
		catch (ClassNotFoundException ex) {
			throw new IdempotencyConfigurationException(
					"The outbox cannot serialise as the KafkaTemplate does: its ProducerFactory tells of no '"
							+ property + "' that can be loaded.",
					"Let its getConfigurationProperties() have it, or declare an OutboxSerializer bean.");
		}
		serializer.configure(configuration, key);
		this.own.add(serializer);
		return serializer;
	}

	@Override
	public OutboxRow serialize(OutboxMessage message, UUID id, String idempotencyKey) {
		Headers headers = new RecordHeaders();
		message.headers().forEach((header) -> headers.add(header.name(), header.value()));
		byte[] key;
		byte[] payload;
		try {
			key = this.keys.serialize(message.topic(), headers, message.key());
			payload = this.payloads.serialize(message.topic(), headers, message.payload());
		}
		catch (RuntimeException ex) {
			throw failure(message, ex);
		}
		return new OutboxRow(id, message.topic(), key, payload, stored(headers), idempotencyKey,
				message.aggregateType(), aggregateId(message, id), message.type());
	}

	private RuntimeException failure(OutboxMessage message, RuntimeException cause) {
		String keySerializer = this.keys.getClass().getName();
		String payloadSerializer = this.payloads.getClass().getName();
		if (SerializerOutage.isBehind(cause)) {
			return new IdempotencyStoreUnavailableException(
					"The " + message + " cannot be serialised now: a server that " + keySerializer + " or "
							+ payloadSerializer + " asks is unavailable; the record is redelivered until it answers",
					cause);
		}
		return new IllegalArgumentException("The " + message + " cannot be serialised by " + keySerializer + " and "
				+ payloadSerializer + ", which are those of the application's KafkaTemplate", cause);
	}

	// The relay adds its own ones.
	private static List<OutboxHeader> stored(Headers headers) {
		List<OutboxHeader> stored = new ArrayList<>();
		for (Header header : headers) {
			if (!header.key().equals(OutboxRow.KEY_HEADER) && !header.key().equals(OutboxRow.ID_HEADER)) {
				stored.add(new OutboxHeader(header.key(), header.value()));
			}
		}
		return stored;
	}

	private static String aggregateId(OutboxMessage message, UUID id) {
		if (message.aggregateId() != null) {
			return message.aggregateId();
		}
		Object key = message.key();
		return (key instanceof CharSequence || key instanceof Number || key instanceof UUID)
				? key.toString().replace('\0', ' ') : id.toString();
	}

	@Override
	public void close() {
		this.own.forEach(Serializer::close);
	}

}
