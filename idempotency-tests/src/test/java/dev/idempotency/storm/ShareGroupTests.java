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
import java.util.stream.Stream;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.springframework.kafka.test.EmbeddedKafkaKraftBroker;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Measures what a share group does with a record that is blocked, so that
 * {@code docs/decisions/share-groups.md} can be verified with another version of Kafka. A
 * dead consumer is one that is not called any more: its lock ends in both cases.
 */
@Tag("storm")
@EnabledIfSystemProperty(named = "test.kill.rounds", matches = ".+", disabledReason = "Part of the profile storm")
class ShareGroupTests {

	private static final Duration LOCK = Duration.ofSeconds(1);

	private static final int DELIVERIES = 5;

	private static EmbeddedKafkaKraftBroker broker;

	private static Admin admin;

	private static int groups;

	private final String group = "share-" + ++groups;

	@BeforeAll
	static void start() {
		broker = new EmbeddedKafkaKraftBroker(1, 1);
		broker.brokerProperties(Map.of("share.coordinator.state.topic.replication.factor", "1",
				"share.coordinator.state.topic.min.isr", "1", "share.coordinator.state.topic.num.partitions", "1",
				"auto.create.topics.enable", "true", "group.share.min.record.lock.duration.ms", "1000",
				"group.share.delivery.count.limit", String.valueOf(DELIVERIES), "offsets.topic.num.partitions", "1"));
		broker.afterPropertiesSet();
		admin = Admin.create(Map.of("bootstrap.servers", broker.getBrokersAsString()));
	}

	@AfterAll
	static void stop() {
		admin.close();
		broker.destroy();
	}

	@Test
	@EnabledIf("consumersCanRenew")
	void renewalHoldsARecordWithoutCountingButItsConsumerGetsNoOther() throws Exception {
		try (KafkaShareConsumer<String, String> holder = consumer();
				KafkaShareConsumer<String, String> other = consumer()) {
			send("blocked");
			ConsumerRecord<String, String> blocked = poll(holder);
			send("free");
			long end = System.nanoTime() + LOCK.multipliedBy(2 * DELIVERIES).toNanos();
			while (System.nanoTime() < end) {
				holder.acknowledge(blocked, AcknowledgeType.valueOf("RENEW"));
				holder.commitSync();
				// The next poll returns the record at once, and no other.
				blocked = poll(holder);
				assertThat(blocked.value()).isEqualTo("blocked");
				assertThat(blocked.deliveryCount()).hasValue((short) 1);
			}
			assertThat(poll(other).value()).isEqualTo("free");
		}
	}

	@Test
	void recordWhoseConsumersDieIsArchivedAlthoughItsHandlerNeverFailed() throws Exception {
		List<KafkaShareConsumer<String, String>> dead = new ArrayList<>();
		try {
			send("victim");
			for (int death = 1; death <= DELIVERIES; death++) {
				dead.add(consumer());
				assertThat(poll(dead.get(death - 1)).deliveryCount()).hasValue((short) death);
			}
			send("next");
			dead.add(consumer());
			assertThat(poll(dead.get(DELIVERIES)).value()).as("the record after the lost one").isEqualTo("next");
		}
		finally {
			dead.forEach(KafkaShareConsumer::close);
		}
	}

	@Test
	void releasedRecordIsArchivedWithinASecond() throws Exception {
		try (KafkaShareConsumer<String, String> consumer = consumer()) {
			send("blocked");
			long start = 0;
			for (int release = 1; release <= DELIVERIES; release++) {
				ConsumerRecord<String, String> blocked = poll(consumer);
				start = (start != 0) ? start : System.nanoTime();
				assertThat(blocked.value()).isEqualTo("blocked");
				assertThat(blocked.deliveryCount()).hasValue((short) release);
				consumer.acknowledge(blocked, AcknowledgeType.RELEASE);
				consumer.commitSync();
			}
			assertThat(Duration.ofNanos(System.nanoTime() - start)).as("time until it is archived").isLessThan(LOCK);
			send("next");
			assertThat(poll(consumer).value()).as("the record after the lost one").isEqualTo("next");
		}
	}

	@Test
	void recordWhoseConsumersLeaveIsArchived() throws Exception {
		send("victim");
		for (int leave = 1; leave <= DELIVERIES; leave++) {
			try (KafkaShareConsumer<String, String> consumer = consumer()) {
				ConsumerRecord<String, String> victim = poll(consumer);
				assertThat(victim.value()).isEqualTo("victim");
				assertThat(victim.deliveryCount()).hasValue((short) leave);
			}
		}
		send("next");
		try (KafkaShareConsumer<String, String> consumer = consumer()) {
			assertThat(poll(consumer).value()).as("the record after the lost one").isEqualTo("next");
		}
	}

	/** Kafka 4.1, the version of Spring Boot 4.0, does not have this type. */
	static boolean consumersCanRenew() {
		return Stream.of(AcknowledgeType.values()).anyMatch((type) -> type.name().equals("RENEW"));
	}

	private KafkaShareConsumer<String, String> consumer() throws Exception {
		ConfigResource resource = new ConfigResource(ConfigResource.Type.GROUP, this.group);
		admin
			.incrementalAlterConfigs(
					Map.of(resource,
							List.of(op("share.auto.offset.reset", "earliest"),
									op("share.record.lock.duration.ms", String.valueOf(LOCK.toMillis())))))
			.all()
			.get();
		Map<String, Object> properties = Map.of("bootstrap.servers", broker.getBrokersAsString(), "group.id",
				this.group, "share.acknowledgement.mode", "explicit");
		KafkaShareConsumer<String, String> consumer = new KafkaShareConsumer<>(properties, new StringDeserializer(),
				new StringDeserializer());
		consumer.subscribe(List.of(this.group));
		return consumer;
	}

	private static AlterConfigOp op(String name, String value) {
		return new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET);
	}

	private static ConsumerRecord<String, String> poll(KafkaShareConsumer<String, String> consumer) {
		List<ConsumerRecord<String, String>> records = new ArrayList<>();
		Awaitility.await().atMost(Duration.ofSeconds(30)).until(() -> {
			consumer.poll(Duration.ofMillis(200)).forEach(records::add);
			return !records.isEmpty();
		});
		return records.get(0);
	}

	private void send(String value) throws Exception {
		try (KafkaProducer<String, String> producer = new KafkaProducer<>(
				Map.of("bootstrap.servers", broker.getBrokersAsString()), new StringSerializer(),
				new StringSerializer())) {
			producer.send(new ProducerRecord<>(this.group, value)).get();
		}
	}

}
