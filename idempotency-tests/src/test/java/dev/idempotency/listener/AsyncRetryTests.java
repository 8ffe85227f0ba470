/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.lang.reflect.Type;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.aopalliance.intercept.MethodInterceptor;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.aop.Advisor;
import org.springframework.aop.support.NameMatchMethodPointcutAdvisor;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.kafka.annotation.KafkaHandler;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.KafkaListenerErrorHandler;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.support.converter.MessagingMessageConverter;
import org.springframework.util.backoff.FixedBackOff;
import reactor.core.publisher.Mono;

import dev.idempotency.Idempotent;
import dev.idempotency.testsupport.DeadLetters;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the retries of asynchronous results in a container with two consumers, which
 * share the listener adapter of Spring Kafka.
 */
@Order(3)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Tag("promise-1")
class AsyncRetryTests {

	private static final Duration PATIENCE = Duration.ofSeconds(90);

	private static final int LOADED = 20;

	private static final String COOPERATIVE = "partition.assignment.strategy:"
			+ "org.apache.kafka.clients.consumer.CooperativeStickyAssignor";

	private final Map<String, String> topics = new ConcurrentHashMap<>();

	private ConfigurableApplicationContext context;

	private Listeners listeners;

	@BeforeAll
	void start() {
		TestApp app = TestApp.of(Listeners.class, SlowRetries.class, Limits.class, Both.class, DeadLetters.class)
			.with("spring.kafka.listener.concurrency", 2);
		for (String name : List.of("future", "mono", "excluded", "staying", "handled", "slow", "throwing", "both",
				"limited", "cooperative")) {
			String topic = Servers.newTopic(name, 2);
			Servers.addTopics(2, topic + "-dead");
			this.topics.put(name, topic);
			app.with("topic." + name, topic);
		}
		String load = Servers.newTopic("load", LOADED);
		Servers.addTopics(LOADED, load + "-dead");
		this.topics.put("load", load);
		this.context = app.with("topic.load", load).run();
		this.listeners = TestApp.target(this.context, Listeners.class);
	}

	@AfterAll
	void stop() {
		this.context.close();
	}

	@ParameterizedTest
	@CsvSource({ "future,0", "future,1", "mono,0", "mono,1", "excluded,0", "excluded,1" })
	void recordsBehindARetryThatSucceedsAreDelivered(String name, int partition) {
		List<String> values = Stream.of("before", "fails once", "behind")
			.map((value) -> value + " " + partition)
			.toList();
		values.forEach((value) -> send(name, partition, value));
		await().atMost(PATIENCE).until(() -> this.listeners.runs(name).containsAll(values));
		// When the container has passed the records that it has fetched with the retry.
		send(name, partition, "later " + partition);
		await().atMost(PATIENCE).until(() -> this.listeners.runs(name).contains("later " + partition));
		assertThat(this.listeners.runs(name)).filteredOn(values.get(1)::equals).hasSize(2);
		AsyncCommits.await(this.topics.get(name), partition);
	}

	@ParameterizedTest
	@CsvSource({ "future,0", "future,1", "mono,0", "mono,1", "excluded,0", "excluded,1" })
	void recordWhoseResultAlwaysFailsIsRecovered(String name, int partition) {
		String value = "fails always " + partition;
		send(name, partition, value);
		send(name, partition, "behind it " + partition);
		await().atMost(PATIENCE)
			.until(() -> Kafka.read(this.topics.get(name) + "-dead")
				.stream()
				.anyMatch((record) -> value.equals(record.value())));
		await().atMost(PATIENCE).until(() -> this.listeners.runs(name).contains("behind it " + partition));
		assertThat(this.listeners.runs(name)).filteredOn(value::equals).hasSize(6);
	}

	@ParameterizedTest
	@ValueSource(strings = { "future", "mono", "excluded", "staying" })
	void failedRecordIsNotCommittedBeforeItsRetrySucceeds(String name) {
		String topic = this.topics.get(name);
		AsyncCommits.awaitAll(topic);
		CompletableFuture<Void> retry = this.listeners.hold("fails, then waits#2");
		send(name, 0, "fails, then waits");
		await().atMost(PATIENCE).until(() -> this.listeners.count(name, "fails, then waits") == 2);
		await().during(Duration.ofMillis(500)).atMost(PATIENCE).until(() -> Kafka.lag(topic, topic, 0) == 1);
		retry.complete(null);
		AsyncCommits.await(topic, 0);
		assertThat(this.listeners.count(name, "fails, then waits")).isEqualTo(2);
	}

	@ParameterizedTest
	@CsvSource({ "future,true", "future,false", "mono,true", "mono,false", "excluded,true", "excluded,false",
			"staying,true", "staying,false" })
	void recordBehindAFailedOneIsRedeliveredWithItAndItsEarlierResultDoesNotMoveThePosition(String name,
			boolean succeeds) {
		String topic = this.topics.get(name);
		AsyncCommits.awaitAll(topic);
		String failed = "fails, then retried " + succeeds;
		String later = "later result " + succeeds;
		CompletableFuture<Void> first = this.listeners.hold(failed + "#1");
		CompletableFuture<Void> second = this.listeners.hold(later + "#1");
		sendTogether(name, failed, later);
		await().atMost(PATIENCE)
			.until(() -> this.listeners.count(name, failed) == 1 && this.listeners.count(name, later) == 1);
		first.completeExceptionally(new IllegalStateException(failed));
		// Both are redelivered, while the first result of the later one is pending.
		await().atMost(PATIENCE).until(() -> this.listeners.count(name, failed) == 2);
		if (succeeds) {
			second.complete(null);
		}
		else {
			second.completeExceptionally(new IllegalStateException(later));
		}
		AsyncCommits.await(topic, 0);
		assertThat(this.listeners.count(name, failed)).isEqualTo(2);
		assertThat(this.listeners.count(name, later)).isEqualTo((succeeds && !name.equals("excluded")) ? 1 : 2);
	}

	@Test
	void keptPartitionIsReadAfterACooperativeRebalanceHasRevokedTheOnlyOneWithAPendingResult() {
		String topic = this.topics.get("cooperative");
		send("cooperative", 0, "before");
		await().atMost(PATIENCE).until(() -> this.listeners.count("cooperative", "before") == 1);
		AsyncCommits.awaitAll(topic);
		CompletableFuture<Void> pending = this.listeners.hold("pending#1");
		send("cooperative", 1, "pending");
		await().atMost(PATIENCE).until(() -> this.listeners.count("cooperative", "pending") == 1);
		MessageListenerContainer second = Objects
			.requireNonNull(this.context.getBean(KafkaListenerEndpointRegistry.class).getListenerContainer("second"));
		second.start();
		await().atMost(PATIENCE)
			.until(() -> List.of(new TopicPartition(topic, 1)).equals(second.getAssignedPartitions()));
		send("cooperative", 0, "kept");
		await().atMost(PATIENCE).until(() -> this.listeners.count("cooperative", "kept") == 1);
		pending.complete(null);
		AsyncCommits.awaitAll(topic);
	}

	@Test
	void failureThatTheListenerErrorHandlerAcceptsIsAcknowledged() {
		String topic = this.topics.get("handled");
		send("handled", 0, "fails always");
		send("handled", 0, "behind");
		await().atMost(PATIENCE).until(() -> this.listeners.count("handled", "behind") == 1);
		AsyncCommits.await(topic, 0);
		assertThat(this.listeners.count("handled", "fails always")).isEqualTo(1);
	}

	@Test
	void failureOfALaterRecordDuringTheBackOffMovesThePositionBehindNoRecord() {
		String topic = this.topics.get("slow");
		SlowRetries slow = this.context.getBean(SlowRetries.class);
		CompletableFuture<Void> later = this.listeners.hold("fails in the back-off#1");
		CompletableFuture<Void> retry = this.listeners.hold("fails at once#2");
		sendTogether("slow", "fails at once", "fails in the back-off", "behind both");
		await().atMost(PATIENCE).until(() -> slow.backOffs.get() == 1);
		later.completeExceptionally(new IllegalStateException("later"));
		await().atMost(PATIENCE).until(() -> this.listeners.count("slow", "fails at once") == 2);
		// Until the consumer has handled the failure of the later record.
		await().during(Duration.ofMillis(500)).atMost(PATIENCE).until(() -> Kafka.lag(topic, topic, 0) == 3);
		retry.complete(null);
		AsyncCommits.await(topic, 0);
		assertThat(this.listeners.count("slow", "fails at once")).isEqualTo(2);
		assertThat(this.listeners.count("slow", "fails in the back-off")).isEqualTo(2);
		assertThat(this.listeners.runs("slow")).contains("behind both");
	}

	@Test
	void recordsBehindARetryThatTheListenerErrorHandlerAcceptsAreDelivered() {
		String topic = this.topics.get("handled");
		sendTogether("handled", "fails always, accepted at the retry", "behind the accepted retry");
		send("handled", 0, "later");
		await().atMost(PATIENCE).until(() -> this.listeners.count("handled", "later") == 1);
		AsyncCommits.await(topic, 0);
		assertThat(this.listeners.count("handled", "fails always, accepted at the retry")).isEqualTo(2);
		assertThat(this.listeners.count("handled", "behind the accepted retry")).isEqualTo(1);
	}

	@Test
	void recordsBehindARetryThatThrowsAndIsRecoveredAreDelivered() {
		String topic = this.topics.get("throwing");
		send("throwing", 0, "fails, then throws");
		await().atMost(PATIENCE)
			.until(() -> Kafka.read(topic + "-dead")
				.stream()
				.anyMatch((record) -> record.value().equals("fails, then throws")));
		send("throwing", 0, "behind");
		await().atMost(PATIENCE).until(() -> this.listeners.count("throwing", "behind") == 1);
		assertThat(this.listeners.count("throwing", "fails, then throws")).isEqualTo(6);
		AsyncCommits.await(topic, 0);
	}

	@Test
	@Tag("promise-3")
	void everyRecordTakesEffectOnceOrIsRecoveredWhenManyFailAtOnce() {
		String topic = this.topics.get("load");
		Random random = new Random(7);
		List<String> values = IntStream.range(0, 120)
			.mapToObj((i) -> List.of("0", "0", "0", "0", "1", "2", "always").get(random.nextInt(7)) + " failures " + i)
			.toList();
		values.stream()
			.map((value) -> Kafka.sendSoon(Kafka.record(topic, values.indexOf(value) % LOADED, value, value)))
			.toList()
			.forEach((sent) -> assertThat(sent).succeedsWithin(PATIENCE));
		List<String> recovered = values.stream().filter((value) -> value.startsWith("always")).toList();
		await().atMost(PATIENCE).until(() -> Kafka.read(topic + "-dead").size() >= recovered.size());
		AsyncCommits.awaitAll(topic);
		assertThat(this.listeners.runs("load")).containsExactlyInAnyOrderElementsOf(
				values.stream().filter((value) -> !value.startsWith("always")).toList());
		assertThat(Kafka.read(topic + "-dead")).extracting(ConsumerRecord::value)
			.containsExactlyInAnyOrderElementsOf(recovered);
	}

	@Test
	void recordsOfTheSamePollBehindARecoveredExceptionAreDelivered() {
		String topic = this.topics.get("throwing");
		sendTogether("throwing", "throws always", "same poll", "same poll, last");
		await().atMost(PATIENCE).until(() -> this.listeners.runs("throwing").contains("same poll, last"));
		assertThat(this.listeners.count("throwing", "throws always")).isEqualTo(6);
		AsyncCommits.await(topic, 0);
	}

	// The listener adapter has the result before the method has ended.
	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void resultThatAnAspectCompletesEarlyDecidesNothing(boolean succeeds) {
		String topic = this.topics.get("limited");
		AsyncCommits.awaitAll(topic);
		String value = "outlasts its limit " + succeeds;
		CompletableFuture<Void> method = this.listeners.hold(value + "#1");
		int limited = Limits.EXCEEDED.get();
		send("limited", 0, value);
		await().atMost(PATIENCE).until(() -> Limits.EXCEEDED.get() > limited);
		await().during(Duration.ofMillis(300)).atMost(PATIENCE).until(() -> Kafka.lag(topic, topic, 0) == 1);
		assertThat(this.listeners.count("limited", value)).isEqualTo(1);
		if (succeeds) {
			method.complete(null);
		}
		else {
			method.completeExceptionally(new IllegalStateException(value));
		}
		AsyncCommits.await(topic, 0);
		assertThat(this.listeners.count("limited", value)).isEqualTo(succeeds ? 1 : 2);
	}

	@Test
	void failureOfAnotherMethodOfTheClassIsRetried() {
		String topic = this.topics.get("both");
		Kafka.send(Kafka.record(topic, 0, "key", "protected"));
		Kafka.send(Kafka.record(topic, 0, "key", "1"));
		Both both = TestApp.target(this.context, Both.class);
		await().atMost(PATIENCE).until(() -> both.runs.equals(List.of("protected", "1", "1")));
		Kafka.send(Kafka.record(topic, 0, "behind", "behind"));
		await().atMost(PATIENCE).until(() -> both.runs.contains("behind"));
	}

	private void sendTogether(String name, String... values) {
		// In one batch of the producer.
		Stream.of(values)
			.map((value) -> Kafka.sendSoon(Kafka.record(this.topics.get(name), 0, value, value)))
			.toList()
			.forEach((sent) -> assertThat(sent).succeedsWithin(PATIENCE));
	}

	private void send(String name, int partition, String value) {
		Kafka.send(Kafka.record(this.topics.get(name), partition, value, value));
	}

	private static ConcurrentKafkaListenerContainerFactory<Object, Object> factory(
			ConsumerFactory<Object, Object> consumers, DefaultErrorHandler errorHandler) {
		ConcurrentKafkaListenerContainerFactory<Object, Object> factory = new ConcurrentKafkaListenerContainerFactory<>();
		factory.setConsumerFactory(consumers);
		factory.setCommonErrorHandler(errorHandler);
		return factory;
	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		private final Map<String, List<String>> runs = new ConcurrentHashMap<>();

		private final Map<String, AtomicInteger> attempts = new ConcurrentHashMap<>();

		private final Map<String, CompletableFuture<Void>> held = new ConcurrentHashMap<>();

		@Idempotent
		@KafkaListener(topics = "${topic.future}", groupId = "${topic.future}")
		CompletableFuture<Void> future(String value) {
			return handle("future", value);
		}

		@Idempotent
		@KafkaListener(topics = "${topic.mono}", groupId = "${topic.mono}")
		Mono<Void> mono(String value) {
			return Mono.defer(() -> Mono.fromFuture(handle("mono", value)));
		}

		@Idempotent(condition = "#value == 'nothing'")
		@KafkaListener(topics = "${topic.excluded}", groupId = "${topic.excluded}")
		CompletableFuture<Void> excluded(String value) {
			return handle("excluded", value);
		}

		@Idempotent
		@KafkaListener(topics = "${topic.staying}", groupId = "${topic.staying}", containerFactory = "stayingFactory")
		CompletableFuture<Void> staying(String value) {
			return handle("staying", value);
		}

		@Bean
		static ConcurrentKafkaListenerContainerFactory<Object, Object> stayingFactory(
				ConsumerFactory<Object, Object> consumers) {
			DefaultErrorHandler errorHandler = new DefaultErrorHandler(new FixedBackOff(0, 5));
			errorHandler.setSeekAfterError(false);
			return factory(consumers, errorHandler);
		}

		@Idempotent
		@KafkaListener(topics = "${topic.slow}", groupId = "${topic.slow}", containerFactory = "slowFactory")
		CompletableFuture<Void> slow(String value) {
			return handle("slow", value);
		}

		@Idempotent
		@KafkaListener(topics = "${topic.limited}", groupId = "${topic.limited}")
		CompletableFuture<Void> limited(String value) {
			return handle("limited", value);
		}

		@Idempotent
		@KafkaListener(topics = "${topic.cooperative}", groupId = "${topic.cooperative}", concurrency = "1",
				properties = COOPERATIVE)
		@KafkaListener(id = "second", topics = "${topic.cooperative}", groupId = "${topic.cooperative}",
				concurrency = "1", autoStartup = "false", properties = COOPERATIVE)
		CompletableFuture<Void> cooperative(String value) {
			return handle("cooperative", value);
		}

		@Idempotent
		@KafkaListener(topics = "${topic.throwing}", groupId = "${topic.throwing}")
		CompletableFuture<Void> throwing(String value) {
			if (value.startsWith("throws") || count("throwing", value) > 0) {
				runs("throwing").add(value);
				throw new IllegalStateException(value);
			}
			return handle("throwing", value);
		}

		@Idempotent
		@KafkaListener(topics = "${topic.handled}", groupId = "${topic.handled}", errorHandler = "acceptingHandler")
		CompletableFuture<Void> handled(String value) {
			return handle("handled", value);
		}

		@Bean
		static KafkaListenerErrorHandler acceptingHandler() {
			AtomicInteger failures = new AtomicInteger();
			return (message, exception) -> {
				if (String.valueOf(message.getPayload()).contains("at the retry") && failures.getAndIncrement() == 0) {
					throw exception;
				}
				return "accepted";
			};
		}

		@Idempotent
		@KafkaListener(topics = "${topic.load}", groupId = "${topic.load}")
		CompletableFuture<Void> load(String value) {
			int failures = value.startsWith("always") ? Integer.MAX_VALUE : value.charAt(0) - '0';
			int run = this.attempts.computeIfAbsent(value, (key) -> new AtomicInteger()).incrementAndGet();
			return CompletableFuture.runAsync(() -> {
				if (run <= failures) {
					throw new IllegalStateException(value);
				}
				runs("load").add(value);
			}, CompletableFuture.delayedExecutor(value.hashCode() & 31, TimeUnit.MILLISECONDS));
		}

		private CompletableFuture<Void> handle(String name, String value) {
			runs(name).add(value);
			long run = count(name, value);
			CompletableFuture<Void> held = this.held.get(value + "#" + run);
			if (held == null && value.startsWith("fails at once") && run == 1) {
				return CompletableFuture.failedFuture(new IllegalStateException(value));
			}
			return (held != null) ? held : CompletableFuture.runAsync(() -> {
				if (value.startsWith("fails always") || (value.startsWith("fails") && run == 1)) {
					throw new IllegalStateException(value);
				}
			});
		}

		/**
		 * Determine the result of one run of a record.
		 * @param run the value of the record and the number of the run
		 * @return the result
		 */
		CompletableFuture<Void> hold(String run) {
			CompletableFuture<Void> result = new CompletableFuture<>();
			this.held.put(run, result);
			return result;
		}

		long count(String name, String value) {
			return runs(name).stream().filter(value::equals).count();
		}

		List<String> runs(String name) {
			return this.runs.computeIfAbsent(name, (key) -> new CopyOnWriteArrayList<>());
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class SlowRetries {

		private final AtomicInteger backOffs = new AtomicInteger();

		@Bean
		ConcurrentKafkaListenerContainerFactory<Object, Object> slowFactory(ConsumerFactory<Object, Object> consumers) {
			DefaultErrorHandler errorHandler = new DefaultErrorHandler(new FixedBackOff(1000, 5));
			errorHandler.setRetryListeners((record, exception, attempt) -> this.backOffs.incrementAndGet());
			return factory(consumers, errorHandler);
		}

	}

	/**
	 * Limits the time of a result from outside, as an aspect of an application might.
	 */
	@Configuration(proxyBeanMethods = false)
	static class Limits {

		static final AtomicInteger EXCEEDED = new AtomicInteger();

		@Bean
		static Advisor limit() {
			NameMatchMethodPointcutAdvisor advisor = new NameMatchMethodPointcutAdvisor((MethodInterceptor) (
					invocation) -> ((CompletableFuture<?>) Objects.requireNonNull(invocation.proceed()))
						.orTimeout(200, TimeUnit.MILLISECONDS)
						.whenComplete((result, error) -> {
							if (error instanceof TimeoutException) {
								EXCEEDED.incrementAndGet();
							}
						}));
			advisor.setMappedName("limited");
			advisor.setOrder(Ordered.HIGHEST_PRECEDENCE);
			return advisor;
		}

	}

	@KafkaListener(topics = "${topic.both}", groupId = "${topic.both}", containerFactory = "bothFactory")
	static class Both {

		private final List<String> runs = new CopyOnWriteArrayList<>();

		@Bean
		static ConcurrentKafkaListenerContainerFactory<Object, Object> bothFactory(
				ConsumerFactory<Object, Object> consumers) {
			ConcurrentKafkaListenerContainerFactory<Object, Object> factory = factory(consumers,
					new DefaultErrorHandler());
			factory.setRecordMessageConverter(new MessagingMessageConverter() {

				@Override
				protected Object extractAndConvertValue(ConsumerRecord<?, ?> record, @Nullable Type type) {
					String value = String.valueOf(record.value());
					return Character.isDigit(value.charAt(0)) ? Integer.valueOf(value) : value;
				}

			});
			return factory;
		}

		@Idempotent
		@KafkaHandler
		CompletableFuture<Void> idempotent(String value) {
			this.runs.add(value);
			return CompletableFuture.completedFuture(null);
		}

		@KafkaHandler
		CompletableFuture<Void> other(Integer value) {
			this.runs.add(value.toString());
			return (this.runs.size() == 2) ? CompletableFuture.failedFuture(new IllegalStateException("once"))
					: CompletableFuture.completedFuture(null);
		}

	}

}
