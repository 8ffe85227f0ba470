package dev.idempotency.listener;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.kafka.autoconfigure.ConcurrentKafkaListenerContainerFactoryConfigurer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.listener.ContainerProperties.AckMode;

import dev.idempotency.listener.MatrixListeners.Runs;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for every listener shape in every mode on every store: a key runs once, every
 * copy receives the reply, and all copies are acknowledged. Other properties of a shape
 * have tests of their own.
 */
@Tag("promise-3")
@Tag("promise-8")
@Execution(ExecutionMode.CONCURRENT)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ListenerMatrixTests {

	private static final List<String> SYNCHRONOUS = List.of("record", "batch", "class", "retried", "manual");

	private static final List<String> ASYNCHRONOUS = List.of("future", "mono", "suspend");

	private static final List<String> WITH_REPLY = List.of("record", "batch", "class", "future", "mono", "suspend");

	private static final Map<String, List<String>> SHAPES = new TreeMap<>(Map.of("transactional", SYNCHRONOUS, "leased",
			join(SYNCHRONOUS, ASYNCHRONOUS), "redis", join(SYNCHRONOUS, ASYNCHRONOUS), "leased, Kafka transaction",
			List.of("record", "batch"), "redis, Kafka transaction", List.of("record", "batch")));

	private final Map<String, ConfigurableApplicationContext> contexts = new TreeMap<>();

	private final Map<String, String> prefixes = new TreeMap<>();

	private static List<String> join(List<String> one, List<String> other) {
		return Stream.concat(one.stream(), other.stream()).toList();
	}

	static Stream<List<String>> cases() {
		return SHAPES.entrySet()
			.stream()
			.flatMap((entry) -> entry.getValue().stream().map((shape) -> List.of(entry.getKey(), shape)));
	}

	@BeforeAll
	void start() {
		SHAPES.forEach((mode, shapes) -> {
			String prefix = Servers.unique("matrix");
			this.prefixes.put(mode, prefix);
			for (String shape : shapes) {
				Servers.addTopics(1, prefix + "-" + shape, prefix + "-" + shape + "-out");
				for (String value : List.of("a", "a", "b", "a")) {
					Kafka.send(prefix + "-" + shape, value, value);
				}
			}
			this.contexts.put(mode, app(mode, prefix).run());
		});
	}

	private static TestApp app(String mode, String prefix) {
		List<Class<?>> configuration = new ArrayList<>(List.of(Runs.class, MatrixListeners.Plain.class));
		boolean transaction = mode.endsWith("Kafka transaction");
		if (!transaction) {
			configuration.addAll(List.of(MatrixListeners.Handlers.class, MatrixListeners.Retried.class,
					MatrixListeners.Manual.class, Factories.class));
		}
		if (!transaction && !mode.equals("transactional")) {
			configuration.addAll(List.of(MatrixListeners.Async.class, MatrixSuspendListener.class));
		}
		TestApp app = TestApp.of(configuration.toArray(Class[]::new))
			.with("prefix", prefix)
			.with("idempotency.mode", mode.equals("transactional") ? "transactional" : "leased");
		if (transaction) {
			app.with("spring.kafka.producer.transaction-id-prefix", prefix);
		}
		return mode.startsWith("redis") ? app.redis(Servers.redis()) : app;
	}

	@AfterAll
	void stop() {
		this.contexts.values().forEach(ConfigurableApplicationContext::close);
	}

	@ParameterizedTest
	@MethodSource("cases")
	void copiesRunOnceAndReceiveTheSameReply(List<String> modeAndShape) {
		String mode = modeAndShape.get(0);
		String shape = modeAndShape.get(1);
		String topic = this.prefixes.get(mode) + "-" + shape;
		Runs runs = this.contexts.get(mode).getBean(Runs.class);
		await().atMost(Duration.ofSeconds(40))
			.untilAsserted(() -> assertThat(runs.of(shape)).containsExactlyInAnyOrder("a", "b"));
		await().atMost(Duration.ofSeconds(40)).untilAsserted(() -> assertThat(Kafka.lag(topic, topic)).isZero());
		if (WITH_REPLY.contains(shape)) {
			String a = "a " + (runs.of(shape).indexOf("a") + 1);
			String b = "b " + (runs.of(shape).indexOf("b") + 1);
			await().atMost(Duration.ofSeconds(20))
				.untilAsserted(() -> assertThat(Kafka.readCommitted(topic + "-out")).extracting(ConsumerRecord::value)
					.containsExactlyInAnyOrder(a, a, a, b));
		}
		assertThat(runs.of(shape)).containsExactlyInAnyOrder("a", "b");
	}

	@Configuration(proxyBeanMethods = false)
	static class Factories {

		@Bean
		ConcurrentKafkaListenerContainerFactory<Object, Object> kafkaListenerContainerFactory(
				ConcurrentKafkaListenerContainerFactoryConfigurer configurer,
				ObjectProvider<ConsumerFactory<Object, Object>> consumers) {
			ConcurrentKafkaListenerContainerFactory<Object, Object> factory = new ConcurrentKafkaListenerContainerFactory<>();
			configurer.configure(factory, consumers.getObject());
			return factory;
		}

		@Bean
		ConcurrentKafkaListenerContainerFactory<Object, Object> manualFactory(
				ConcurrentKafkaListenerContainerFactoryConfigurer configurer,
				ObjectProvider<ConsumerFactory<Object, Object>> consumers) {
			ConcurrentKafkaListenerContainerFactory<Object, Object> factory = kafkaListenerContainerFactory(configurer,
					consumers);
			factory.getContainerProperties().setAckMode(AckMode.MANUAL);
			return factory;
		}

	}

}
