/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.annotation.Bean;
import org.springframework.kafka.annotation.KafkaHandler;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.listener.BatchListenerFailedException;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.KafkaListenerErrorHandler;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.listener.adapter.RecordFilterStrategy;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.kafka.support.KafkaHeaders;
import org.springframework.kafka.support.KafkaNull;
import org.springframework.messaging.Message;
import org.springframework.messaging.handler.annotation.Payload;
import org.springframework.test.util.AopTestUtils;
import org.springframework.util.backoff.FixedBackOff;

import dev.idempotency.Idempotent;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for records that are acknowledged late, or not at all, beside records that are
 * blocked, recovered, dropped or negatively acknowledged: no commit passes them, and none
 * moves back.
 * <p>
 * The listeners process {@code u} without protection. They acknowledge a batch of which
 * each value ends with {@code !}, and fail at {@code f}.
 */
@Tag("promise-1")
@Execution(ExecutionMode.CONCURRENT)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class LateAcknowledgmentTests {

	private static final Duration PATIENCE = Duration.ofSeconds(40);

	private static final Duration FETCH_MAX_WAIT = Duration.ofMillis(ConsumerConfig.DEFAULT_FETCH_MAX_WAIT_MS);

	private static final Duration ACK_TIME = Duration.ofSeconds(3);

	private final Map<String, BatchApp> apps = new ConcurrentHashMap<>();

	@BeforeAll
	void start() {
		for (String ack : List.of("manual", "manual_immediate")) {
			this.apps.put(ack,
					new BatchApp(new Class<?>[] { Listeners.class, WithoutAcknowledgment.class, Messages.class },
							"leased", "spring.kafka.listener.ack-mode=" + ack));
		}
		this.apps.put("time", new BatchApp(Listeners.class, "leased", "spring.kafka.listener.ack-mode=time",
				"spring.kafka.listener.ack-time=" + ACK_TIME.toMillis() + "ms"));
		this.apps.put("count", new BatchApp(Listeners.class, "leased", "spring.kafka.listener.ack-mode=count",
				"spring.kafka.listener.ack-count=1000", "spring.kafka.consumer.max-poll-records=2"));
	}

	@AfterAll
	void stop() {
		this.apps.values().forEach(BatchApp::close);
	}

	private static void send(BatchApp app, String name, int partition, String values) {
		for (String value : values.split(" ")) {
			Kafka.send(Kafka.record(app.name(name), partition, value, value));
		}
	}

	private static long committed(BatchApp app, String name, int partition) {
		return Kafka.committed(app.name(name), app.name(name), partition);
	}

	private static void awaitRun(BatchApp app, String name, String value) {
		Listeners listeners = app.listeners(Listeners.class);
		await("run of " + value).atMost(PATIENCE)
			.until(() -> listeners.runs(name).stream().anyMatch((run) -> List.of(run.split(" ")).contains(value)));
	}

	private static void awaitDuplicate(BatchApp app, String name, String value) {
		await("duplicate " + value).atMost(PATIENCE).until(() -> app.outcomes(name, value).contains(Outcome.DUPLICATE));
	}

	private static double fetches(BatchApp app, String name) {
		return app.container(name)
			.metrics()
			.values()
			.stream()
			.flatMap((metrics) -> metrics.values().stream())
			.filter((metric) -> metric.metricName().name().equals("fetch-total"))
			.mapToDouble((metric) -> (double) metric.metricValue())
			.sum();
	}

	// Deliver the records of all partitions in one batch. A fetch that began before the
	// pause would return the first of them alone; it ends within the interval.
	private static void sendTogether(BatchApp app, String name, String... partitions) {
		app.container(name).pause();
		await().atMost(PATIENCE).until(() -> app.container(name).isContainerPaused());
		double[] fetches = { -1 };
		await().atMost(PATIENCE).pollInterval(FETCH_MAX_WAIT.plusMillis(200)).until(() -> {
			double before = fetches[0];
			fetches[0] = fetches(app, name);
			return fetches[0] == before;
		});
		for (int i = 0; i < partitions.length; i++) {
			send(app, name, i, partitions[i]);
		}
		app.container(name).resume();
	}

	@ParameterizedTest
	@ValueSource(strings = { "manual", "manual_immediate" })
	void unacknowledgedRecordOfABatchThatIsBlockedElsewhereIsNotPassed(String ack) {
		BatchApp app = this.apps.get(ack);
		Servers.addTopics(2, app.name("beside"));
		app.complete("beside", "d", null);
		ClaimRequest other = app.hold("beside", "x", Duration.ofMinutes(5));
		send(app, "beside", 0, "u1");
		send(app, "beside", 1, "x");
		app.start("beside");
		awaitRun(app, "beside", "u1");
		app.awaitBlocked("beside");
		send(app, "beside", 0, "d");
		awaitDuplicate(app, "beside", "d");
		app.stop("beside");
		one(app.store()).release(other);
		assertThat(committed(app, "beside", 0)).isZero();
	}

	@Test
	void headerOfAMessageAcknowledgesWhileAnotherPartitionIsBlocked() {
		BatchApp app = this.apps.get("manual");
		Listeners listeners = app.listeners(Listeners.class);
		Servers.addTopics(2, app.name("messages"));
		ClaimRequest other = app.hold("messages", "x", Duration.ofMinutes(5));
		send(app, "messages", 0, "a");
		send(app, "messages", 1, "x");
		app.start("messages");
		awaitRun(app, "messages", "a");
		app.awaitBlocked("messages");
		listeners.acknowledgments.get("messages a").acknowledge();
		await().atMost(PATIENCE)
			.untilAsserted(() -> assertThat(app.record("messages", "a").state()).isEqualTo(State.COMPLETED));
		app.stop("messages");
		one(app.store()).release(other);
		app.start("messages");
		await().atMost(PATIENCE).until(() -> listeners.runs("messages").contains("x"));
		assertThat(listeners.runs("messages")).containsOnlyOnce("a");
	}

	@ParameterizedTest
	@ValueSource(strings = { "u1", "a" })
	void recoveredOffsetDoesNotMoveBack(String first) {
		BatchApp app = this.apps.get("manual_immediate");
		Listeners listeners = app.listeners(Listeners.class);
		String name = first.equals("a") ? "one" : "another";
		Servers.addTopics(1, app.name(name));
		app.complete(name, "d", null);
		send(app, name, 0, first);
		app.start(name);
		awaitRun(app, name, first);
		send(app, name, 0, "d");
		awaitDuplicate(app, name, "d");
		send(app, name, 0, "f");
		await().atMost(PATIENCE).until(() -> listeners.recovered.contains(app.name(name) + " f"));
		await().atMost(PATIENCE).until(() -> committed(app, name, 0) == 3);
		// An acknowledgment that is passed on late comes from a task that runs each
		// second.
		await().during(Duration.ofMillis(1500)).atMost(PATIENCE).until(() -> committed(app, name, 0) == 3);
		app.stop(name);
		assertThat(committed(app, name, 0)).isEqualTo(3);
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void offsetOfAPartOfABatchDoesNotMoveBack(boolean queued) {
		BatchApp app = this.apps.get("manual");
		String name = queued ? "queued" : "earlier";
		Servers.addTopics(2, app.name(name));
		app.complete(name, "d", null);
		ClaimRequest other = app.hold(name, "x", Duration.ofMinutes(5));
		send(app, name, 0, "u1");
		app.start(name);
		awaitRun(app, name, "u1");
		if (queued) {
			send(app, name, 0, "d");
			awaitDuplicate(app, name, "d");
		}
		sendTogether(app, name, "u2!", "x");
		awaitRun(app, name, "u2!");
		app.awaitBlocked(name);
		app.stop(name);
		one(app.store()).release(other);
		assertThat(committed(app, name, 0)).isEqualTo(queued ? 3 : 2);
	}

	@Test
	void offsetOfAPartOfABatchMovesBackOnlyUntilTheTimeOfTheContainerIsOver() {
		BatchApp app = this.apps.get("time");
		Listeners listeners = app.listeners(Listeners.class);
		Servers.addTopics(2, app.name("timed"));
		ClaimRequest other = app.hold("timed", "x", Duration.ofMinutes(5));
		send(app, "timed", 0, "a b");
		app.start("timed");
		awaitRun(app, "timed", "b");
		sendTogether(app, "timed", "c", "x");
		awaitRun(app, "timed", "c");
		assertThat(listeners.committedBefore.get("timed c")).isZero();
		await().atMost(PATIENCE).during(ACK_TIME.plusSeconds(1)).until(() -> committed(app, "timed", 0) == 3);
		app.stop("timed");
		one(app.store()).release(other);
		assertThat(committed(app, "timed", 0)).isEqualTo(3);
	}

	// The container commits after the first poll without records. One such poll is
	// between two deliveries of the blocked record.
	@Test
	void offsetOfAPartOfABatchDoesNotStayBehindIfTheContainerCounts() {
		BatchApp app = this.apps.get("count");
		Servers.addTopics(1, app.name("timed"));
		ClaimRequest other = app.hold("timed", "x", Duration.ofMinutes(5));
		send(app, "timed", 0, "a b c x");
		app.start("timed");
		await().atMost(PATIENCE).until(() -> app.outcomes("timed", "x").size() >= 2);
		await().atMost(PATIENCE).until(() -> committed(app, "timed", 0) == 3);
		one(app.store()).release(other);
		app.awaitDone("timed");
		assertThat(app.listeners(Listeners.class).runs("timed")).containsExactly("a b", "c", "x");
	}

	@Test
	void offsetOfAPartOfABatchDoesNotMoveBackIfTheContainerStops() {
		BatchApp app = this.apps.get("manual");
		Servers.addTopics(2, app.name("stopping"));
		ClaimRequest other = app.hold("stopping", "x", Duration.ofMinutes(5));
		send(app, "stopping", 0, "u1");
		app.start("stopping");
		awaitRun(app, "stopping", "u1");
		AtomicBoolean stopped = new AtomicBoolean();
		app.listeners(Listeners.class).whenStopping = () -> app.container("stopping").stop(() -> stopped.set(true));
		sendTogether(app, "stopping", "u2!", "x");
		awaitRun(app, "stopping", "u2!");
		await().atMost(PATIENCE).untilTrue(stopped);
		one(app.store()).release(other);
		assertThat(app.outcomes("stopping", "x")).contains(Outcome.IN_PROGRESS);
		assertThat(committed(app, "stopping", 0)).isEqualTo(2);
	}

	// The listener of another record may wake the consumer at any time.
	@Test
	void recordBeforeARecoveredOneIsCompletedIfTheConsumerIsWoken() {
		BatchApp app = this.apps.get("manual_immediate");
		app.listeners(Listeners.class).woken = app.name("awake");
		Servers.addTopics(1, app.name("awake"));
		send(app, "awake", 0, "k f");
		app.start("awake");
		await().atMost(PATIENCE).until(() -> committed(app, "awake", 0) == 2);
		await().atMost(PATIENCE).until(() -> app.record("awake", "k").state() == State.COMPLETED);
		app.stop("awake");
	}

	@Test
	void recordIsRecoveredOnceIfTheConsumerIsWokenMeanwhile() {
		BatchApp app = this.apps.get("manual_immediate");
		Listeners listeners = app.listeners(Listeners.class);
		Servers.addTopics(2, app.name("woken"));
		send(app, "woken", 1, "u1");
		send(app, "woken", 0, "u2");
		app.start("woken");
		awaitRun(app, "woken", "u1");
		awaitRun(app, "woken", "u2");
		listeners.whenRecovered.put(app.name("woken"), () -> {
			Thread waking = new Thread(() -> listeners.acknowledgments.get("woken u1").acknowledge());
			waking.start();
			try {
				waking.join();
			}
			catch (InterruptedException ex) {
				throw new IllegalStateException(ex);
			}
		});
		sendTogether(app, "woken", "f g");
		await("run of g alone").atMost(PATIENCE).until(() -> listeners.runs("woken").contains("g"));
		app.stop("woken");
		assertThat(listeners.recovered).containsOnlyOnce(app.name("woken") + " f");
	}

	@Test
	void methodWhoseMessageTypeIsAVariableCanAcknowledge() {
		BatchApp app = this.apps.get("manual");
		Servers.addTopics(1, app.name("variable"));
		app.complete("variable", "d", null);
		send(app, "variable", 0, "u1");
		app.start("variable");
		awaitRun(app, "variable", "u1");
		send(app, "variable", 0, "d");
		awaitDuplicate(app, "variable", "d");
		app.stop("variable");
		assertThat(committed(app, "variable", 0)).isZero();
	}

	@Test
	void duplicateBehindAMethodThatCannotAcknowledgeIsAcknowledged() {
		BatchApp app = this.apps.get("manual");
		Servers.addTopics(1, app.name("class"));
		app.complete("class", "d", null);
		Kafka.send(Kafka.record(app.name("class"), 0, "n", null));
		app.start("class");
		awaitRun(app, "class", "null");
		send(app, "class", 0, "d");
		app.awaitDone("class");
	}

	// The container would forget the partitions that it has paused for the first one.
	@Test
	@Tag("promise-11")
	void partitionsRunAfterTwoNegativeAcknowledgmentsBesideABlockedRecord() {
		BatchApp app = this.apps.get("manual");
		Servers.addTopics(3, app.name("sleeping"));
		ClaimRequest other = app.hold("sleeping", "x", Duration.ofMinutes(5));
		send(app, "sleeping", 0, "x n2");
		app.start("sleeping");
		app.awaitBlocked("sleeping");
		send(app, "sleeping", 1, "n1");
		awaitRun(app, "sleeping", "n1");
		send(app, "sleeping", 2, "k");
		one(app.store()).release(other);
		app.awaitDone("sleeping");
		assertThat(app.listeners(Listeners.class).runs("sleeping")).containsExactlyInAnyOrder("n1", "n1", "x", "n2",
				"n2", "k");
	}

	@Test
	void acknowledgmentOfAPartWaitsForTheOriginalOfACopy() {
		BatchApp app = this.apps.get("manual_immediate");
		Listeners listeners = app.listeners(Listeners.class);
		Servers.addTopics(1, app.name("part"), app.name("part-too"));
		send(app, "part-too", 0, "a");
		app.start("part-too");
		awaitRun(app, "part", "a");
		send(app, "part", 0, "a bp c");
		app.start("part");
		awaitRun(app, "part", "c");
		listeners.acknowledgments.get("part a").acknowledge();
		app.awaitDone("part-too");
		// It is passed on with the next delivery.
		send(app, "part", 0, "d");
		await().atMost(PATIENCE).until(() -> committed(app, "part", 0) == 2);
		app.stop("part");
		app.stop("part-too");
	}

	// After acknowledge(index), acknowledge() of Spring Kafka before 4.0.8 and 4.1.2
	// acknowledges only one more record.
	@Test
	void restOfABatchIsAcknowledgedAfterAPartOfIt() {
		BatchApp app = this.apps.get("manual_immediate");
		Servers.addTopics(1, app.name("rest"));
		send(app, "rest", 0, "ap b c");
		app.start("rest");
		await().atMost(PATIENCE).until(() -> committed(app, "rest", 0) == 1);
		send(app, "rest", 0, "d");
		await().atMost(PATIENCE).until(() -> committed(app, "rest", 0) == 3);
		assertThat(app.listeners(Listeners.class).runs("rest")).containsExactly("ap b c", "d");
		app.stop("rest");
	}

	// The container counts the dropped records, too.
	@Test
	void negativeAcknowledgmentBehindADroppedRecordRedeliversOnlyWhatFollows() {
		BatchApp app = this.apps.get("manual");
		Servers.addTopics(1, app.name("dropping"));
		send(app, "dropping", 0, "drop u1 n");
		app.start("dropping");
		app.awaitDone("dropping");
		assertThat(app.listeners(Listeners.class).runs("dropping")).containsExactly("u1 n", "n");
	}

	@Test
	void failureThatIsAcceptedAfterAnAcknowledgmentIsNotPassed() {
		BatchApp app = this.apps.get("manual");
		Servers.addTopics(1, app.name("accepted"));
		app.complete("accepted", "d", null);
		send(app, "accepted", 0, "f!");
		app.start("accepted");
		awaitRun(app, "accepted", "f!");
		send(app, "accepted", 0, "d");
		awaitDuplicate(app, "accepted", "d");
		app.stop("accepted");
		assertThat(committed(app, "accepted", 0)).isZero();
	}

	static class Listeners {

		private final Map<String, Queue<String>> runs = new ConcurrentHashMap<>();

		private final Map<String, Acknowledgment> acknowledgments = new ConcurrentHashMap<>();

		private final Queue<String> recovered = new ConcurrentLinkedQueue<>();

		private final Map<String, Runnable> whenRecovered = new ConcurrentHashMap<>();

		private final Map<String, Long> committedBefore = new ConcurrentHashMap<>();

		private volatile Runnable whenStopping;

		private volatile String woken;

		@Bean
		DefaultErrorHandler errorHandler() {
			DefaultErrorHandler handler = new DefaultErrorHandler((record, error) -> {
				this.recovered.add(record.topic() + " " + record.value());
				Runnable action = this.whenRecovered.remove(record.topic());
				if (action != null) {
					action.run();
				}
			}, new FixedBackOff(0, 0)) {

				@Override
				public void handleRemaining(Exception thrown, List<ConsumerRecord<?, ?>> records,
						Consumer<?, ?> consumer, MessageListenerContainer container) {
					super.handleRemaining(thrown, records, consumer, container);
					if (records.get(0).topic().equals(Listeners.this.woken)) {
						consumer.wakeup();
					}
				}

			};
			handler.setCommitRecovered(true);
			return handler;
		}

		@Bean
		static KafkaListenerErrorHandler accepting() {
			return (message, ex) -> "accepted";
		}

		// Not for the other listeners.
		@Bean(autowireCandidate = false)
		static RecordFilterStrategy<Object, Object> withoutDrop() {
			return (record) -> "drop".equals(record.value());
		}

		Queue<String> runs(String name) {
			return this.runs.computeIfAbsent(name, (unused) -> new ConcurrentLinkedQueue<>());
		}

		void single(String name, String value, Acknowledgment acknowledgment) {
			runs(name).add(value);
			this.acknowledgments.put(name + " " + value, acknowledgment);
			if (value.contains("!")) {
				acknowledgment.acknowledge();
			}
			if (value.contains("f")) {
				throw new IllegalStateException("fails");
			}
		}

		private void batch(String name, List<String> values, Acknowledgment acknowledgment) {
			values.forEach((value) -> this.acknowledgments.put(name + " " + value, acknowledgment));
			runs(name).add(String.join(" ", values));
			if (values.stream().allMatch((value) -> value.contains("!"))) {
				acknowledgment.acknowledge();
			}
			for (int i = 0; i < values.size(); i++) {
				if (values.get(i).contains("p")) {
					acknowledgment.acknowledge(i);
				}
				if (values.get(i).contains("f")) {
					throw new BatchListenerFailedException("fails", i);
				}
			}
		}

		@Idempotent(scope = "${prefix}-one")
		@KafkaListener(id = "${prefix}-one", topics = "${prefix}-one")
		void one(String value, Acknowledgment acknowledgment) {
			single("one", value, acknowledgment);
		}

		@Idempotent(scope = "${prefix}-timed")
		@KafkaListener(id = "${prefix}-timed", topics = "${prefix}-timed", batch = "true")
		void timed(List<ConsumerRecord<String, String>> records) {
			ConsumerRecord<String, String> first = records.get(0);
			this.committedBefore.put("timed " + first.value(), Kafka.committed(first.topic(), first.topic(), 0));
			runs("timed").add(records.stream().map(ConsumerRecord::value).collect(Collectors.joining(" ")));
		}

		@Idempotent(scope = "${prefix}-awake")
		@KafkaListener(id = "${prefix}-awake", topics = "${prefix}-awake")
		void awake(String value, Acknowledgment acknowledgment) {
			single("awake", value, acknowledgment);
		}

		@Idempotent(scope = "${prefix}-another", condition = "!#payload.startsWith('u')")
		@KafkaListener(id = "${prefix}-another", topics = "${prefix}-another")
		void another(String value, Acknowledgment acknowledgment) {
			single("another", value, acknowledgment);
		}

		@Idempotent(scope = "${prefix}-accepted")
		@KafkaListener(id = "${prefix}-accepted", topics = "${prefix}-accepted", errorHandler = "accepting")
		void accepted(String value, Acknowledgment acknowledgment) {
			single("accepted", value, acknowledgment);
		}

		@Idempotent(scope = "${prefix}-beside", condition = "!#payload.startsWith('u')")
		@KafkaListener(id = "${prefix}-beside", topics = "${prefix}-beside", batch = "true")
		void beside(List<String> values, Acknowledgment acknowledgment) {
			batch("beside", values, acknowledgment);
		}

		@Idempotent(scope = "${prefix}-queued", condition = "!#payload.startsWith('u')")
		@KafkaListener(id = "${prefix}-queued", topics = "${prefix}-queued", batch = "true")
		void queued(List<String> values, Acknowledgment acknowledgment) {
			batch("queued", values, acknowledgment);
		}

		@Idempotent(scope = "${prefix}-earlier", condition = "!#payload.startsWith('u')")
		@KafkaListener(id = "${prefix}-earlier", topics = "${prefix}-earlier", batch = "true")
		void earlier(List<String> values, Acknowledgment acknowledgment) {
			if (values.contains("u2!")) {
				this.acknowledgments.get("earlier u1").acknowledge();
			}
			batch("earlier", values, acknowledgment);
		}

		@Idempotent(scope = "${prefix}-stopping", condition = "!#payload.startsWith('u')")
		@KafkaListener(id = "${prefix}-stopping", topics = "${prefix}-stopping", batch = "true")
		void stopping(List<String> values, Acknowledgment acknowledgment) {
			if (!values.contains("u2!")) {
				batch("stopping", values, acknowledgment);
				return;
			}
			this.acknowledgments.get("stopping u1").acknowledge();
			batch("stopping", values, acknowledgment);
			this.whenStopping.run();
		}

		@Idempotent(scope = "${prefix}-woken", condition = "!#payload.startsWith('u')")
		@KafkaListener(id = "${prefix}-woken", topics = "${prefix}-woken", batch = "true")
		void woken(List<String> values, Acknowledgment acknowledgment) {
			batch("woken", values, acknowledgment);
		}

		@Idempotent(scope = "${prefix}-part")
		@KafkaListener(id = "${prefix}-part", topics = "${prefix}-part", batch = "true")
		@KafkaListener(id = "${prefix}-part-too", topics = "${prefix}-part-too", batch = "true")
		void part(List<String> values, Acknowledgment acknowledgment) {
			batch("part", values, acknowledgment);
		}

		@Idempotent(scope = "${prefix}-rest")
		@KafkaListener(id = "${prefix}-rest", topics = "${prefix}-rest", batch = "true")
		void rest(List<String> values, Acknowledgment acknowledgment) {
			batch("rest", values, acknowledgment);
			if (values.contains("d")) {
				this.acknowledgments.get("rest ap").acknowledge();
			}
		}

		@Idempotent(scope = "${prefix}-messages")
		@KafkaListener(id = "${prefix}-messages", topics = "${prefix}-messages", batch = "true")
		void messages(List<Message<String>> messages) {
			Acknowledgment acknowledgment = messages.get(0)
				.getHeaders()
				.get(KafkaHeaders.ACKNOWLEDGMENT, Acknowledgment.class);
			batch("messages", messages.stream().map(Message::getPayload).toList(), acknowledgment);
		}

		@Idempotent(scope = "${prefix}-dropping", condition = "!#payload.startsWith('u')")
		@KafkaListener(id = "${prefix}-dropping", topics = "${prefix}-dropping", batch = "true", filter = "withoutDrop")
		void dropping(List<String> values, Acknowledgment acknowledgment) {
			boolean again = !runs("dropping").isEmpty();
			runs("dropping").add(String.join(" ", values));
			if (again) {
				acknowledgment.acknowledge();
			}
			else {
				acknowledgment.nack(values.indexOf("n"), Duration.ofMillis(1));
			}
		}

		@Idempotent(scope = "${prefix}-sleeping")
		@KafkaListener(id = "${prefix}-sleeping", topics = "${prefix}-sleeping")
		void sleeping(String value, Acknowledgment acknowledgment) {
			runs("sleeping").add(value);
			if (value.startsWith("n") && this.acknowledgments.put("sleeping " + value, acknowledgment) == null) {
				acknowledgment.nack(value.equals("n1") ? Duration.ofSeconds(5) : Duration.ofMillis(500));
			}
			else {
				acknowledgment.acknowledge();
			}
		}

	}

	@Idempotent(scope = "${prefix}-class")
	@KafkaListener(id = "${prefix}-class", topics = "${prefix}-class")
	static class WithoutAcknowledgment {

		private final Listeners listeners;

		WithoutAcknowledgment(Listeners listeners) {
			this.listeners = listeners;
		}

		@KafkaHandler
		void text(String value, Acknowledgment acknowledgment) {
			this.listeners.single("class", value, acknowledgment);
		}

		@KafkaHandler
		void nothing(@Payload(required = false) KafkaNull value) {
			this.listeners.runs("class").add("null");
		}

	}

	abstract static class WithVariable<M> {

		@Idempotent(scope = "${prefix}-variable", condition = "!#payload.toString().contains('u')")
		@KafkaListener(id = "${prefix}-variable", topics = "${prefix}-variable")
		void handle(M message) {
			process(message);
		}

		abstract void process(M message);

	}

	static class Messages extends WithVariable<Message<String>> {

		private final Listeners listeners;

		Messages(Listeners listeners) {
			this.listeners = listeners;
		}

		@Override
		void process(Message<String> message) {
			AopTestUtils.<Listeners>getTargetObject(this.listeners).runs("variable").add(message.getPayload());
		}

	}

}
