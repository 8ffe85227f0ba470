/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.stream;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;

import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.kafka.test.EmbeddedKafkaBroker;
import org.springframework.kafka.test.EmbeddedKafkaKraftBroker;
import org.springframework.util.function.SingletonSupplier;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyStore;

/**
 * An application with functions, on a broker that all tests share.
 */
final class StreamApp implements AutoCloseable {

	private static final SingletonSupplier<EmbeddedKafkaBroker> BROKER = SingletonSupplier.of(StreamApp::startBroker);

	private static final SingletonSupplier<KafkaProducer<String, String>> PRODUCER = SingletonSupplier
		.of(() -> new KafkaProducer<>(Map.of("bootstrap.servers", brokers(), "linger.ms", 0), new StringSerializer(),
				new StringSerializer()));

	private final ConfigurableApplicationContext context;

	private StreamApp(ConfigurableApplicationContext context) {
		this.context = context;
	}

	private static EmbeddedKafkaBroker startBroker() {
		EmbeddedKafkaBroker broker = new EmbeddedKafkaKraftBroker(1, 1)
			.brokerProperties(Map.of("group.initial.rebalance.delay.ms", "0", "offsets.topic.num.partitions", "1",
					"transaction.state.log.num.partitions", "1", "transaction.state.log.replication.factor", "1",
					"transaction.state.log.min.isr", "1"));
		broker.afterPropertiesSet();
		Runtime.getRuntime().addShutdownHook(new Thread(broker::destroy));
		return broker;
	}

	static String brokers() {
		return BROKER.obtain().getBrokersAsString();
	}

	static void createTopic(String name, int partitions) {
		BROKER.obtain().addTopics(new NewTopic(name, partitions, (short) 1));
	}

	/**
	 * Start an application with a database of its own.
	 * @param configuration its configuration
	 * @param bindings the properties of its bindings
	 * @param properties its properties
	 * @return the application
	 */
	static StreamApp start(Class<?> configuration, List<String> bindings, String... properties) {
		List<String> all = new ArrayList<>(List.of("spring.datasource.url=jdbc:h2:mem:" + UUID.randomUUID(),
				"spring.cloud.stream.kafka.binder.brokers=" + brokers(), "spring.kafka.bootstrap-servers=" + brokers(),
				"spring.cloud.stream.kafka.default.consumer.start-offset=earliest",
				"spring.cloud.stream.default.consumer.back-off-initial-interval=50", "spring.main.banner-mode=off",
				"spring.jmx.enabled=false", "idempotency.store.type=jdbc"));
		all.addAll(bindings);
		all.addAll(List.of(properties));
		return new StreamApp(new SpringApplicationBuilder(configuration).web(WebApplicationType.NONE)
			.properties(all.toArray(String[]::new))
			.run());
	}

	/**
	 * Bind each function to the topic of its name, in the group 'test', with a
	 * dead-letter topic.
	 * @param functions the definitions of the functions
	 * @return the properties
	 */
	static List<String> bindings(String... functions) {
		List<String> properties = new ArrayList<>();
		properties.add("spring.cloud.function.definition=" + String.join(";", functions));
		for (String function : functions) {
			String name = function.replace("|", "");
			properties.add("spring.cloud.stream.bindings." + name + "-in-0.destination=" + name);
			properties.add("spring.cloud.stream.bindings." + name + "-in-0.group=test");
			properties.add("spring.cloud.stream.kafka.bindings." + name + "-in-0.consumer.enable-dlq=true");
		}
		return properties;
	}

	<T> T bean(Class<T> type) {
		return this.context.getBean(type);
	}

	ConfigurableApplicationContext context() {
		return this.context;
	}

	/**
	 * Claim a key for an owner that does not complete it within its lease of two seconds.
	 * @param scope the scope
	 * @param key the key
	 */
	void claim(String scope, String key) {
		bean(IdempotencyStore.class).claim(List.of(new ClaimRequest(IdempotencyKey.of(scope, key), UUID.randomUUID(),
				null, Duration.ofSeconds(4), Duration.ofDays(1))));
	}

	static void send(String topic, String key, String value) {
		ProducerRecord<String, String> record = new ProducerRecord<>(topic, value);
		if (key != null) {
			record.headers().add("Idempotency-Key", key.getBytes(StandardCharsets.UTF_8));
		}
		try {
			PRODUCER.obtain().send(record).get();
		}
		catch (Exception ex) {
			throw new IllegalStateException(ex);
		}
	}

	/**
	 * Read a topic from its beginning.
	 * @param topic the topic
	 * @param count the number of values to wait for
	 * @return the values
	 */
	static List<String> read(String topic, int count) {
		return read(topic, count, Duration.ofSeconds(20));
	}

	static List<String> read(String topic, int count, Duration limit) {
		try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(
				Map.of("bootstrap.servers", brokers(), ConsumerConfig.GROUP_ID_CONFIG, UUID.randomUUID().toString(),
						"auto.offset.reset", "earliest", "isolation.level", "read_committed"),
				new StringDeserializer(), new StringDeserializer())) {
			consumer.subscribe(List.of(topic));
			List<String> values = new ArrayList<>();
			long end = System.nanoTime() + limit.toNanos();
			while (values.size() < count && System.nanoTime() < end) {
				for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
					values.add(record.value());
				}
			}
			return values;
		}
	}

	@Override
	public void close() {
		this.context.close();
	}

}
