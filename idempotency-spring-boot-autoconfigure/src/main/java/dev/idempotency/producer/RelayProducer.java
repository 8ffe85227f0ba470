package dev.idempotency.producer;

import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;

import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.ProducerFactory;
import org.springframework.util.StringUtils;

/**
 * Creates the producer of a relay. It connects to the same cluster as the producers of
 * the application, also after the application has switched to another cluster.
 */
final class RelayProducer {

	private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

	private static final int MAX_IN_FLIGHT = 5;

	private final ProducerFactory<?, ?> application;

	private final long sendTimeout;

	private final DefaultKafkaProducerFactory<byte[], byte[]> producers;

	private @Nullable Object servers;

	RelayProducer(ProducerFactory<?, ?> application, Duration sendTimeout) {
		this.application = application;
		this.sendTimeout = sendTimeout.toMillis();
		Map<String, Object> current = application.getConfigurationProperties();
		this.servers = servers(current);
		this.producers = new DefaultKafkaProducerFactory<>(configuration(current, this.sendTimeout),
				new ByteArraySerializer(), new ByteArraySerializer());
		application.getListeners().forEach((listener) -> this.producers.addListener(untyped(listener)));
		this.producers.setPhysicalCloseTimeout((int) CLOSE_TIMEOUT.toSeconds());
	}

	private static @Nullable Object servers(Map<String, Object> configuration) {
		return configuration.get(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG);
	}

	// The listeners register meters of the producer, and do not see the messages.
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
		// A message waits for the previous one with its ordering key, so delays add up.
		configuration.put(ProducerConfig.LINGER_MS_CONFIG, 0);
		configuration.computeIfPresent(ProducerConfig.INTERCEPTOR_CLASSES_CONFIG,
				(name, value) -> withoutKeyInterceptor(value));
		configuration.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, sendTimeout / 4);
		configuration.put(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, (int) (sendTimeout * 3 / 4));
		configuration.put(ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG, (int) (sendTimeout * 3 / 8));
		Object clientId = application.get(ProducerConfig.CLIENT_ID_CONFIG);
		configuration.put(ProducerConfig.CLIENT_ID_CONFIG,
				((clientId != null) ? clientId + "-" : "") + "idempotency-outbox");
		return configuration;
	}

	// A repeated publication must not get another key in another header.
	private static List<Object> withoutKeyInterceptor(Object interceptors) {
		Collection<?> all = (interceptors instanceof Collection<?> several) ? several
				: List.of(StringUtils.tokenizeToStringArray(String.valueOf(interceptors), ","));
		return all.stream()
			.filter((one) -> !one.equals(IdempotencyKeyInterceptor.class)
					&& !String.valueOf(one).trim().equals(IdempotencyKeyInterceptor.class.getName()))
			.collect(Collectors.toList());
	}

	Producer<byte[], byte[]> get() {
		return this.producers.createProducer();
	}

	/**
	 * Replace the producer if the application has switched to another cluster.
	 */
	void renewIfSwitched() {
		Map<String, Object> current = current();
		if (!Objects.equals(servers(current), this.servers)) {
			renew(current);
		}
	}

	/**
	 * Replace the producer, with the current configuration.
	 */
	void renew() {
		renew(current());
	}

	private void renew(Map<String, Object> current) {
		this.producers.reset();
		this.producers.updateConfigs(configuration(current, this.sendTimeout));
		this.servers = servers(current);
	}

	// A KafkaException counts as an outage and not as a refusal of the message.
	private Map<String, Object> current() {
		try {
			return this.application.getConfigurationProperties();
		}
		catch (RuntimeException ex) {
			throw new KafkaException("The ProducerFactory of the application did not return its configuration", ex);
		}
	}

	void destroy() {
		this.producers.destroy();
	}

}
