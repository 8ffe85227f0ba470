/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.transaction.annotation.Transactional;

import dev.idempotency.Idempotent;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Measures listeners whose records are recognized by their offsets: the size of the table
 * after many records, and the throughput beside an unprotected listener that runs the
 * same statement by itself.
 */
@Tag("storm")
@ResourceLock("storms")
@EnabledIfSystemProperty(named = "test.offset.records", matches = "\\d+",
		disabledReason = "Run by the command in docs/benchmarks.md")
class OffsetVolumeTests {

	private static final int PARTITIONS = 12;

	private static final String SIZES = """
			SELECT (SELECT count(*) FROM idempotency_record_offset) AS marks,
			  (SELECT count(*) FROM idempotency_record) AS records,
			  pg_total_relation_size('idempotency_record_offset') AS bytes,
			  pg_total_relation_size('idempotency_record') AS record_bytes""";

	private static final String STATEMENT = """
			INSERT INTO own_offset AS r (id, scope, topic, topic_partition, topic_id, last_offset, updated_at)
			VALUES (?::uuid, ?, ?, ?, ?::uuid, ?, clock_timestamp())
			ON CONFLICT (id) DO UPDATE SET previous_offset = r.last_offset,
			  last_offset = greatest(r.last_offset, excluded.last_offset), updated_at = excluded.updated_at
			RETURNING r.id, coalesce(r.previous_offset, -1) AS previous""";

	@Test
	void tableHasOneRowForEachPartitionAfterManyRecords() {
		long count = Long.getLong("test.offset.records");
		String topic = Servers.newTopic("volume", PARTITIONS);
		produce(topic, count);
		try (ConfigurableApplicationContext context = run(topic, 5000)) {
			Listeners listeners = TestApp.target(context, Listeners.class);
			JdbcTemplate jdbc = context.getBean(JdbcTemplate.class);
			System.out.println("before: " + jdbc.queryForMap(SIZES));
			long start = System.nanoTime();
			context.getBean(KafkaListenerEndpointRegistry.class).getListenerContainer("volume").start();
			for (int tick = 0; listeners.volume.get() < count || Kafka.lag(topic, topic) > 0; tick++) {
				LockSupport.parkNanos(Duration.ofMillis(500).toNanos());
				if (tick % 40 == 0) {
					System.out.println(listeners.volume.get() + " records, " + jdbc.queryForMap(SIZES));
				}
			}
			System.out.printf("%d records in %.1f s%n", count, (System.nanoTime() - start) / 1e9);
			Map<String, Object> sizes = jdbc.queryForMap(SIZES);
			System.out.println("after: " + sizes);
			assertThat(listeners.volume).hasValue(count);
			assertThat(sizes).containsEntry("marks", (long) PARTITIONS).containsEntry("records", 0L);
			assertThat((long) sizes.get("bytes")).isLessThan(10_000_000);
		}
	}

	@Test
	void throughputIsThatOfAnUnprotectedListenerWithTheSameStatement() {
		int rounds = Integer.getInteger("test.offset.rounds", 13);
		int records = 25_000;
		String topic = Servers.newTopic("ratio", PARTITIONS);
		List<Double> ratios = new ArrayList<>();
		try (ConfigurableApplicationContext context = run(topic, 500)) {
			JdbcTemplate jdbc = context.getBean(JdbcTemplate.class);
			jdbc.execute(
					"CREATE TABLE own_offset (LIKE idempotency_record_offset INCLUDING ALL) WITH (fillfactor = 20)");
			jdbc.execute("CREATE TABLE effect (id bigserial PRIMARY KEY, value text)");
			for (int round = 0; round < rounds; round++) {
				produce(topic, records);
				boolean first = round % 2 == 0;
				double one = consume(context, topic, first ? "protected" : "unprotected", records);
				double other = consume(context, topic, first ? "unprotected" : "protected", records);
				double ratio = first ? one / other : other / one;
				System.out.printf("round %d: protected %.0f/s, unprotected %.0f/s, ratio %.3f%n", round,
						first ? one : other, first ? other : one, ratio);
				if (round > 1) {
					ratios.add(ratio);
				}
			}
		}
		ratios.sort(null);
		System.out.println("median ratio " + ratios.get(ratios.size() / 2) + " of " + ratios);
		assertThat(ratios.get(ratios.size() / 2)).isGreaterThan(0.9);
	}

	private static double consume(ConfigurableApplicationContext context, String topic, String listener, int records) {
		MessageListenerContainer container = context.getBean(KafkaListenerEndpointRegistry.class)
			.getListenerContainer(listener);
		AtomicLong counter = TestApp.target(context, Listeners.class).counter(listener);
		long before = counter.get();
		container.start();
		while (counter.get() < before + records / 10) {
			LockSupport.parkNanos(Duration.ofMillis(1).toNanos());
		}
		long from = counter.get();
		long start = System.nanoTime();
		while (counter.get() < before + records) {
			LockSupport.parkNanos(Duration.ofMillis(1).toNanos());
		}
		double rate = (before + records - from) / ((System.nanoTime() - start) / 1e9);
		while (Kafka.lag(topic + listener, topic) > 0) {
			LockSupport.parkNanos(Duration.ofMillis(50).toNanos());
		}
		container.stop();
		return rate;
	}

	private static ConfigurableApplicationContext run(String topic, int poll) {
		return TestApp.of(Listeners.class)
			.with("topic", topic)
			.with("idempotency.mode", "transactional")
			.with("spring.kafka.listener.auto-startup", false)
			.with("spring.kafka.consumer.max-poll-records", poll)
			.run();
	}

	private static void produce(String topic, long count) {
		Map<String, Object> properties = Map.of("bootstrap.servers", Servers.kafka().getBrokersAsString(), "linger.ms",
				20, "batch.size", 262_144, "buffer.memory", 134_217_728L);
		try (KafkaProducer<String, String> producer = new KafkaProducer<>(properties, new StringSerializer(),
				new StringSerializer())) {
			for (long i = 0; i < count; i++) {
				producer.send(new ProducerRecord<>(topic, (int) (i % PARTITIONS), null, "v" + i));
			}
		}
		System.out.println("produced " + count + " records");
	}

	static class Listeners {

		private final AtomicLong volume = new AtomicLong();

		private final AtomicLong guarded = new AtomicLong();

		private final AtomicLong unguarded = new AtomicLong();

		private final JdbcTemplate jdbc;

		Listeners(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
		}

		AtomicLong counter(String listener) {
			return listener.equals("protected") ? this.guarded : this.unguarded;
		}

		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET)
		@KafkaListener(id = "volume", topics = "${topic}", groupId = "${topic}", batch = "true", concurrency = "2")
		void volume(List<String> values) {
			this.volume.addAndGet(values.size());
		}

		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET)
		@Transactional
		@KafkaListener(id = "protected", topics = "${topic}", groupId = "${topic}protected")
		void guarded(ConsumerRecord<String, String> record) {
			effect(record);
			this.guarded.incrementAndGet();
		}

		@Transactional
		@KafkaListener(id = "unprotected", topics = "${topic}", groupId = "${topic}unprotected")
		void unguarded(ConsumerRecord<String, String> record) {
			this.jdbc.query(STATEMENT, (row) -> {
			}, String.format("00000000-0000-0000-0000-%012d", record.partition()), "scope", record.topic(),
					record.partition(), "00000000-0000-0000-0000-000000000001", record.offset());
			effect(record);
			this.unguarded.incrementAndGet();
		}

		private void effect(ConsumerRecord<String, String> record) {
			this.jdbc.update("INSERT INTO effect (value) VALUES (?)", record.value());
		}

	}

}
