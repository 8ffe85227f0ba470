package dev.idempotency.producer;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.Collectors;

import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.ApplicationRecoverableException;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.ClusterAuthorizationException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.errors.UnknownServerException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.ProducerFactory;
import org.springframework.util.StringUtils;

import dev.idempotency.outbox.OutboxPublisher;
import dev.idempotency.outbox.OutboxRow;

/**
 * Sends stored messages with a producer that is configured as the application's own, but
 * waits for all replicas and is idempotent, takes bytes, and gives up in time.
 *
 * @since 0.1.0
 */
public final class KafkaOutboxPublisher implements OutboxPublisher, DisposableBean {

	private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

	private static final int MAX_IN_FLIGHT = 5;

	private final DefaultKafkaProducerFactory<byte[], byte[]> producers;

	private final String keyHeader;

	// Of the relay's thread and the producer's.
	private volatile boolean doubtful;

	/**
	 * Create a publisher.
	 * @param factory the factory of the application's {@code KafkaTemplate}
	 * @param sendTimeout how long a message may take
	 */
	public KafkaOutboxPublisher(ProducerFactory<?, ?> factory, Duration sendTimeout) {
		this.producers = new DefaultKafkaProducerFactory<>(
				configuration(factory.getConfigurationProperties(), sendTimeout.toMillis()), new ByteArraySerializer(),
				new ByteArraySerializer());
		Object header = factory.getConfigurationProperties().get(IdempotencyKeyInterceptor.HEADER_CONFIG);
		this.keyHeader = (header != null) ? header.toString() : OutboxRow.KEY_HEADER;
		factory.getListeners().forEach((listener) -> this.producers.addListener(untyped(listener)));
		this.producers.setPhysicalCloseTimeout((int) CLOSE_TIMEOUT.toSeconds());
	}

	// Meters of producers, which Boot adds, do not look at messages.
	@SuppressWarnings("unchecked")
	private static ProducerFactory.Listener<byte[], byte[]> untyped(ProducerFactory.Listener<?, ?> listener) {
		return (ProducerFactory.Listener<byte[], byte[]>) listener;
	}

	private static Map<String, Object> configuration(Map<String, Object> application, long sendTimeout) {
		Map<String, Object> configuration = new HashMap<>(application);
		configuration.remove(ProducerConfig.TRANSACTIONAL_ID_CONFIG);
		configuration.remove(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG);
		configuration.remove(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG);
		configuration.put(ProducerConfig.ACKS_CONFIG, "all");
		configuration.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, true);
		configuration.put(ProducerConfig.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION, MAX_IN_FLIGHT);
		configuration.put(ProducerConfig.RETRIES_CONFIG, Integer.MAX_VALUE);
		// A message with a key waits for the one before, so lingering would add up.
		configuration.put(ProducerConfig.LINGER_MS_CONFIG, 0);
		configuration.computeIfPresent(ProducerConfig.INTERCEPTOR_CLASSES_CONFIG,
				(name, value) -> withoutStamping(value));
		configuration.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, sendTimeout / 4);
		configuration.put(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, (int) (sendTimeout * 3 / 4));
		configuration.put(ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG, (int) (sendTimeout * 3 / 8));
		Object clientId = application.get(ProducerConfig.CLIENT_ID_CONFIG);
		configuration.put(ProducerConfig.CLIENT_ID_CONFIG,
				((clientId != null) ? clientId + "-" : "") + "idempotency-outbox");
		return configuration;
	}

	// A message that is published again must not get another key under another name.
	private static List<Object> withoutStamping(Object interceptors) {
		Collection<?> all = (interceptors instanceof Collection<?> several) ? several
				: StringUtils.commaDelimitedListToSet(String.valueOf(interceptors));
		return all.stream()
			.filter((one) -> !one.equals(IdempotencyKeyInterceptor.class)
					&& !String.valueOf(one).trim().equals(IdempotencyKeyInterceptor.class.getName()))
			.collect(Collectors.toList());
	}

	@Override
	public CompletionStage<?> publish(OutboxRow row) {
		CompletableFuture<Void> published = new CompletableFuture<>();
		if (this.doubtful) {
			this.doubtful = false;
			this.producers.reset();
		}
		try {
			this.producers.createProducer().send(record(row, this.keyHeader), (metadata, error) -> {
				if (error == null) {
					published.complete(null);
				}
				else {
					this.doubtful |= isDoubtful(error);
					published.completeExceptionally(error);
				}
			});
		}
		catch (RuntimeException ex) {
			this.doubtful |= isDoubtful(ex);
			published.completeExceptionally(ex);
		}
		return published;
	}

	private static ProducerRecord<byte[], byte[]> record(OutboxRow row, String keyHeader) {
		ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(row.topic(), row.key(), row.payload());
		row.headers().forEach((header) -> record.headers().add(header.name(), header.value()));
		record.headers().add(OutboxRow.ID_HEADER, row.id().toString().getBytes(StandardCharsets.UTF_8));
		byte[] key = row.idempotencyKey().getBytes(StandardCharsets.UTF_8);
		record.headers().add(OutboxRow.KEY_HEADER, key);
		if (!keyHeader.equals(OutboxRow.KEY_HEADER)) {
			record.headers().add(keyHeader, key);
		}
		return record;
	}

	// Whether the producer may be good for nothing by now.
	private boolean isDoubtful(Throwable error) {
		return !(error instanceof RetriableException) && meaning(error) == Failed.UNAVAILABLE;
	}

	@Override
	public Failed meaning(Throwable error) {
		if (isUnknownTopic(error) || isUnknownTopic(error.getCause())) {
			return Failed.REFUSED;
		}
		if (!(error instanceof KafkaException) && !(error instanceof IllegalStateException)) {
			// A partitioner or an interceptor of the application, with this message.
			return Failed.REFUSED;
		}
		boolean refused = error instanceof ApiException && !(error instanceof RetriableException)
				&& !(error instanceof AuthenticationException) && !(error instanceof ClusterAuthorizationException)
				&& !(error instanceof UnknownServerException) && !isLostProducer(error);
		return refused ? Failed.REFUSED : Failed.UNAVAILABLE;
	}

	// Its producer sends a message until the time is over, in case the topic comes.
	private static boolean isUnknownTopic(@Nullable Throwable error) {
		return error instanceof UnknownTopicOrPartitionException;
	}

	private static boolean isLostProducer(Throwable error) {
		return error instanceof ApplicationRecoverableException || error instanceof OutOfOrderSequenceException;
	}

	@Override
	public void destroy() {
		this.producers.destroy();
	}

}
