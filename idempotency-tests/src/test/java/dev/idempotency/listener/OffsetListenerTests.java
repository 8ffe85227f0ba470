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
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.Uuid;
import org.assertj.core.groups.Tuple;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ContainerPostProcessor;
import org.springframework.kafka.listener.BatchListenerFailedException;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.ContainerProperties.AckMode;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.Idempotent;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.store.OffsetMark;
import dev.idempotency.store.OffsetMarks;
import dev.idempotency.store.OffsetMarks.StoredMark;
import dev.idempotency.store.TransactionalIdempotencyStore;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.RecordingObserver;
import dev.idempotency.testsupport.Servers;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link MissingKeyPolicy#OFFSET} on a real broker and PostgreSQL.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class OffsetListenerTests {

	private final Logs logs = new Logs();

	private BatchApp app;

	private Listeners listeners;

	private JdbcTemplate jdbc;

	@BeforeAll
	void start() {
		this.app = new BatchApp(Listeners.class, "transactional", "spring.kafka.consumer.max-poll-records=500",
				"spring.kafka.consumer.properties.metadata.max.age.ms=500",
				"spring.kafka.consumer.properties.allow.auto.create.topics=false");
		this.listeners = this.app.listeners(Listeners.class);
		this.jdbc = this.app.bean(JdbcTemplate.class);
		this.jdbc.execute("CREATE TABLE effect (listener text, value text)");
	}

	@AfterAll
	void stop() {
		this.app.close();
		this.logs.close();
	}

	@Test
	@Tag("promise-3")
	void redeliveredRecordIsSkippedAndThePartitionHasOneRowWhateverTheHeaders() {
		// Two records have the same key in a header.
		this.app.send("single", "- a - a", "- -");
		process("single");
		assertThat(this.listeners.single).hasSize(6);
		redeliver("single");
		assertThat(this.listeners.single).hasSize(6);
		assertThat(effects("single")).hasSize(6);
		assertThat(marks("single")).extracting(StoredMark::partition, StoredMark::offset)
			.containsExactly(tuple(0, 3L), tuple(1, 1L));
		assertThat(rows("single")).isZero();
		assertThat(outcomes("single")).hasSize(10)
			.startsWith(Outcome.PROCESSED)
			.endsWith(Outcome.DUPLICATE, Outcome.DUPLICATE);
		assertThat(this.listeners.key).startsWith(this.app.name("single") + "-");
	}

	@Test
	@Tag("promise-3")
	void recordsWithoutKeyNeedOneRowByDefault() {
		this.app.send("keyless", "- a - b -");
		process("keyless");
		redeliver("keyless");
		assertThat(this.listeners.keyless).hasSize(5);
		assertThat(marks("keyless")).extracting(StoredMark::offset).containsExactly(4L);
		assertThat(rows("keyless")).as("records with a key").isEqualTo(2);
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-5")
	void failedRecordIsRolledBackAndRetriedBeforeTheNext() {
		this.app.send("failing", "- - -");
		process("failing");
		assertThat(this.listeners.failing).containsExactly("0", "1", "1", "2");
		assertThat(effects("failing")).containsExactly("0", "1", "2");
		assertThat(marks("failing")).extracting(StoredMark::offset).containsExactly(2L);
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-3")
	void batchIsCommittedUpToTheFailedRecord() {
		this.app.send("batch", "- - - - -", "- - -");
		process("batch");
		assertThat(effects("batch")).hasSize(8).doesNotHaveDuplicates();
		redeliver("batch");
		assertThat(effects("batch")).hasSize(8);
		assertThat(marks("batch")).extracting(StoredMark::offset).containsExactly(4L, 2L);
		assertThat(rows("batch")).isZero();
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-2")
	void noMarkPassesARecordBehindABlockedOne() {
		this.app.send("mixed", "- a - - b -", "- -");
		var held = this.app.hold("mixed", "a", Duration.ofMinutes(1));
		this.app.start("mixed");
		await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> assertThat(effects("mixed")).hasSize(3));
		assertThat(marks("mixed")).extracting(StoredMark::offset).containsExactly(0L, 1L);
		one(this.app.store()).release(held);
		this.app.awaitDone("mixed");
		assertThat(effects("mixed")).hasSize(8).doesNotHaveDuplicates();
		assertThat(marks("mixed")).extracting(StoredMark::offset).containsExactly(5L, 1L);
	}

	@Test
	@Tag("promise-2")
	@Tag("promise-4")
	void recordWaitsForAConsumerThatHasLostThePartition() {
		this.app.send("zombie", "-");
		process("zombie");
		this.app.stop("zombie");
		this.app.sendMore("zombie", "- -");
		StoredMark mark = marks("zombie").get(0);
		new TransactionTemplate(this.app.bean(IdempotencyTemplate.class).transactionManager())
			.executeWithoutResult((status) -> {
				offsets().raise(List.of(new OffsetMark(mark.scope(), mark.topic(), mark.topicId(), 0, 1)), false)
					.get(0);
				this.app.start("zombie");
				await().atMost(Duration.ofSeconds(20)).until(() -> outcomes("zombie").contains(Outcome.IN_PROGRESS));
			});
		this.app.awaitDone("zombie");
		assertThat(this.listeners.zombie).as("the other consumer has processed offset 1").containsExactly("0", "2");
	}

	@Test
	@Tag("promise-1")
	void topicThatIsCreatedAgainWhileTheApplicationIsStoppedBeginsAnew() throws Exception {
		this.app.send("stopped", "- - -");
		process("stopped");
		this.app.stop("stopped");
		createAgain("stopped");
		this.app.sendMore("stopped", "- -");
		process("stopped");
		assertThat(this.listeners.stopped).containsExactly("0", "1", "2", "0", "1");
	}

	@Test
	@Tag("promise-1")
	void topicThatIsCreatedAgainWhileTheApplicationRunsBeginsAnew() throws Exception {
		this.app.send("running", "- - -");
		process("running");
		createAgain("running");
		this.app.sendMore("running", "- -");
		await().atMost(Duration.ofSeconds(40))
			.untilAsserted(() -> assertThat(this.listeners.running)
				.as(() -> "outcomes " + outcomes("running") + ", lag " + this.app.lag("running"))
				.containsExactly("0", "1", "2", "0", "1"));
		assertThat(marks("running")).extracting(StoredMark::offset).containsExactlyInAnyOrder(2L, 1L);
	}

	@Test
	@Tag("promise-3")
	void recordsFarBelowTheMarkAreSkippedWithAWarningAndProcessedWhenItIsLowered() {
		Servers.addTopics(1, this.app.name("reset"));
		List<? extends Future<RecordMetadata>> sent = IntStream.range(0, 1100)
			.mapToObj((i) -> Kafka.sendSoon(Kafka.record(this.app.name("reset"), 0, null, "" + i)))
			.toList();
		assertThat(sent).allSatisfy((future) -> assertThat(future).succeedsWithin(Duration.ofSeconds(20)));
		process("reset");
		assertThat(this.listeners.reset).hasValue(1100);
		redeliver("reset");
		assertThat(this.listeners.reset).hasValue(1100);
		assertThat(this.logs.messages("WARN")).filteredOn((line) -> line.contains(this.app.name("reset")))
			.filteredOn((line) -> line.contains("skipped as duplicates"))
			.singleElement()
			.asString()
			.contains("the offset 0 of partition 0 of topic " + this.app.name("reset"),
					"POST /actuator/idempotency/offsets/lower", "1099 offsets below the mark 1099",
					"{\"scope\":\"" + this.app.name("reset") + "\",\"topic\":\"" + this.app.name("reset")
							+ "\",\"partition\":0,\"next\":0}");
		this.app.stop("reset");
		assertThat(this.app.bean(IdempotencyTemplate.class)
			.admin()
			.lowerMark(this.app.name("reset"), this.app.name("reset"), 0, 1000, "someone")).isTrue();
		assertThat(this.app.listeners(RecordingObserver.class).interventions()).contains("LOWER done");
		redeliver("reset");
		assertThat(this.listeners.reset).hasValue(1200);
	}

	@Test
	void recordCostsOneStoreCallAndABatchToo() {
		this.app.send("calls", "- - -");
		this.app.send("batchcalls", "- - -", "- - -");
		List<String> calls = this.app.listeners(RecordingObserver.class).storeCalls();
		calls.clear();
		process("calls");
		assertThat(calls).containsOnly("jdbc CLAIM").hasSize(3);
		calls.clear();
		process("batchcalls");
		assertThat(calls).containsOnly("jdbc CLAIM").hasSizeLessThanOrEqualTo(this.listeners.batches.get());
	}

	@Test
	@Tag("promise-3")
	void acknowledgedRecordRaisesTheMarkAndAnUnacknowledgedOneIsRedelivered() {
		this.app.send("manual", "- - -");
		process("manual");
		assertThat(this.listeners.manual).containsExactly("0", "1", "1", "2");
		redeliver("manual");
		assertThat(this.listeners.manual).hasSize(4);
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-3")
	void refusedRecordsOfABatchAreDoneAndRolledBack() {
		this.app.send("refusing", "- - - - -", "- -");
		process("refusing");
		assertThat(effects("refusing")).containsExactlyInAnyOrder("0", "2", "3", "1/0");
		assertThat(marks("refusing")).extracting(StoredMark::offset).containsExactly(4L, 1L);
		redeliver("refusing");
		assertThat(effects("refusing")).hasSize(4);
		assertThat(outcomes("refusing")).filteredOn((outcome) -> outcome == Outcome.DECLINED).hasSize(3);
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-3")
	void refusedRecordIsDoneAndRolledBack() {
		this.app.send("refusingone", "- - -");
		process("refusingone");
		redeliver("refusingone");
		assertThat(effects("refusingone")).containsExactlyInAnyOrder("0", "2");
		assertThat(marks("refusingone")).extracting(StoredMark::offset).containsExactly(2L);
	}

	@Test
	@Tag("promise-3")
	void recordWithoutKeyOfAListenerWithAKeyExpressionIsReadAgainWhenItsTopicIsKnown() {
		this.app.send("expression", "- a - a", "- -");
		process("expression");
		redeliver("expression");
		assertThat(effects("expression")).containsExactlyInAnyOrder("0", "1", "2", "1/0", "1/1");
		assertThat(marks("expression")).extracting(StoredMark::offset).containsExactly(2L, 1L);
	}

	private static Tuple tuple(Object... values) {
		return Tuple.tuple(values);
	}

	private void process(String listener) {
		this.app.start(listener);
		this.app.awaitDone(listener);
	}

	private void redeliver(String listener) {
		this.app.stop(listener);
		Kafka.rewind(this.app.name(listener), this.app.name(listener));
		process(listener);
	}

	private void createAgain(String listener) throws Exception {
		String topic = this.app.name(listener);
		try (Admin admin = Admin.create(Map.of("bootstrap.servers", Servers.kafka().getBrokersAsString()))) {
			Uuid deleted = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).topicId();
			admin.deleteTopics(List.of(topic)).all().get();
			// The producer of the tests may have created it already.
			admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1)));
			await().ignoreExceptions()
				.until(() -> admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).topicId(),
						(created) -> !created.equals(deleted));
		}
	}

	private OffsetMarks offsets() {
		return ((TransactionalIdempotencyStore) this.app.store()).offsetMarks().orElseThrow();
	}

	private List<StoredMark> marks(String listener) {
		return offsets().list(1000).stream().filter((mark) -> mark.topic().equals(this.app.name(listener))).toList();
	}

	private int rows(String listener) {
		return this.jdbc.queryForObject("SELECT count(*) FROM idempotency_record WHERE scope = ?", Integer.class,
				this.app.name(listener));
	}

	private List<String> effects(String listener) {
		return this.jdbc.queryForList("SELECT value FROM effect WHERE listener = ?", String.class, listener);
	}

	private List<Outcome> outcomes(String listener) {
		return this.app.listeners(RecordingObserver.class)
			.executions()
			.stream()
			.filter((execution) -> execution.listener().endsWith("." + listener))
			.map((execution) -> execution.outcome())
			.toList();
	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		private final Queue<String> single = new ConcurrentLinkedQueue<>();

		private final Queue<String> keyless = new ConcurrentLinkedQueue<>();

		private final Queue<String> failing = new ConcurrentLinkedQueue<>();

		private final Queue<String> zombie = new ConcurrentLinkedQueue<>();

		private final Queue<String> stopped = new ConcurrentLinkedQueue<>();

		private final Queue<String> running = new ConcurrentLinkedQueue<>();

		private final Queue<String> manual = new ConcurrentLinkedQueue<>();

		private final AtomicInteger reset = new AtomicInteger();

		private final AtomicInteger batches = new AtomicInteger();

		private final AtomicInteger failures = new AtomicInteger();

		private volatile String key;

		private final JdbcTemplate jdbc;

		Listeners(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
		}

		private void insert(String listener, ConsumerRecord<String, String> record) {
			this.jdbc.update("INSERT INTO effect VALUES (?, ?)", listener, at(record));
		}

		private static String at(ConsumerRecord<String, String> record) {
			return (record.partition() > 0) ? record.partition() + "/" + record.offset() : "" + record.offset();
		}

		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET, scope = "${prefix}-single")
		@KafkaListener(id = "${prefix}-single", topics = "${prefix}-single")
		void single(ConsumerRecord<String, String> record) {
			this.single.add(at(record));
			this.key = IdempotentExecution.current().key();
			insert("single", record);
		}

		@Idempotent(scope = "${prefix}-keyless")
		@KafkaListener(id = "${prefix}-keyless", topics = "${prefix}-keyless")
		void keyless(ConsumerRecord<String, String> record) {
			this.keyless.add(at(record));
		}

		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET, scope = "${prefix}-failing")
		@KafkaListener(id = "${prefix}-failing", topics = "${prefix}-failing")
		void failing(ConsumerRecord<String, String> record) {
			this.failing.add(at(record));
			insert("failing", record);
			if (record.offset() == 1 && this.failures.getAndIncrement() == 0) {
				throw new IllegalStateException("first attempt");
			}
		}

		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET, scope = "${prefix}-batch")
		@KafkaListener(id = "${prefix}-batch", topics = "${prefix}-batch", batch = "true")
		void batch(List<ConsumerRecord<String, String>> records) {
			for (int i = 0; i < records.size(); i++) {
				insert("batch", records.get(i));
				if (records.get(i).offset() == 2 && this.batches.getAndIncrement() < 2) {
					throw new BatchListenerFailedException("failed", i);
				}
			}
		}

		@Idempotent(scope = "${prefix}-mixed")
		@KafkaListener(id = "${prefix}-mixed", topics = "${prefix}-mixed", batch = "true")
		void mixed(List<ConsumerRecord<String, String>> records) {
			records.forEach((record) -> insert("mixed", record));
		}

		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET, scope = "${prefix}-refusing")
		@KafkaListener(id = "${prefix}-refusing", topics = "${prefix}-refusing", batch = "true")
		void refusing(List<ConsumerRecord<String, String>> records) {
			for (int i = 0; i < records.size(); i++) {
				ConsumerRecord<String, String> record = records.get(i);
				insert("refusing", record);
				if (record.offset() == 4 || record.offset() == 1) {
					throw new BatchListenerFailedException("refused", new OperationDeclinedException("closed"), i);
				}
			}
		}

		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET, scope = "${prefix}-refusingone")
		@KafkaListener(id = "${prefix}-refusingone", topics = "${prefix}-refusingone")
		void refusingone(ConsumerRecord<String, String> record) {
			insert("refusingone", record);
			if (record.offset() == 1) {
				throw new OperationDeclinedException("closed");
			}
		}

		@Idempotent(key = "#headers['none']", onMissingKey = MissingKeyPolicy.OFFSET, scope = "${prefix}-expression")
		@KafkaListener(id = "${prefix}-expression", topics = "${prefix}-expression", batch = "true")
		void expression(List<ConsumerRecord<String, String>> records) {
			records.forEach((record) -> insert("expression", record));
		}

		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET, scope = "${prefix}-zombie")
		@KafkaListener(id = "${prefix}-zombie", topics = "${prefix}-zombie")
		void zombie(ConsumerRecord<String, String> record) {
			this.zombie.add(at(record));
		}

		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET, scope = "${prefix}-stopped")
		@KafkaListener(id = "${prefix}-stopped", topics = "${prefix}-stopped")
		void stopped(ConsumerRecord<String, String> record) {
			this.stopped.add(at(record));
		}

		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET, scope = "${prefix}-running")
		@KafkaListener(id = "${prefix}-running", topics = "${prefix}-running")
		void running(ConsumerRecord<String, String> record) {
			this.running.add(at(record));
		}

		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET, scope = "${prefix}-reset")
		@KafkaListener(id = "${prefix}-reset", topics = "${prefix}-reset", batch = "true")
		void reset(List<String> values) {
			this.reset.addAndGet(values.size());
		}

		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET, scope = "${prefix}-calls")
		@KafkaListener(id = "${prefix}-calls", topics = "${prefix}-calls")
		void calls(String value) {
		}

		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET, scope = "${prefix}-batchcalls")
		@KafkaListener(id = "${prefix}-batchcalls", topics = "${prefix}-batchcalls", batch = "true")
		void batchcalls(List<String> values) {
			this.batches.incrementAndGet();
		}

		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET, scope = "${prefix}-manual")
		@KafkaListener(id = "${prefix}-manual", topics = "${prefix}-manual", properties = "max.poll.records=10",
				containerPostProcessor = "manual")
		void manual(ConsumerRecord<String, String> record, Acknowledgment acknowledgment) {
			this.manual.add(at(record));
			if (record.offset() == 1 && this.manual.size() == 2) {
				acknowledgment.nack(Duration.ofMillis(1));
				return;
			}
			acknowledgment.acknowledge();
		}

		@Bean
		static ContainerPostProcessor<String, String, ConcurrentMessageListenerContainer<String, String>> manual() {
			return (container) -> container.getContainerProperties().setAckMode(AckMode.MANUAL);
		}

	}

}
