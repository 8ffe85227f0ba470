/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.stream;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Function;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.messaging.Message;
import org.springframework.transaction.support.TransactionSynchronizationManager;

import dev.idempotency.Idempotent;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.Mode;
import dev.idempotency.template.OperationObserver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for functions of Spring Cloud Stream that are idempotent.
 */
@Execution(ExecutionMode.CONCURRENT)
class FunctionTests {

	private static final Map<String, List<String>> CALLS = new ConcurrentHashMap<>();

	private static StreamApp app;

	@BeforeAll
	static void start() {
		StreamApp.createTopic("once", 2);
		app = StreamApp.start(Functions.class,
				StreamApp.bindings("consume", "reply", "once", "failing", "rejecting", "component", "charge",
						"prefix|composed"),
				"spring.cloud.stream.bindings.reply-out-0.destination=reply-out",
				"spring.cloud.stream.bindings.charge-out-0.destination=receipts",
				"spring.cloud.stream.bindings.prefixcomposed-out-0.destination=prefixcomposed-out",
				"spring.cloud.stream.bindings.once-in-0.consumer.max-attempts=1",
				"spring.cloud.stream.bindings.once-in-0.consumer.concurrency=2");
	}

	@AfterAll
	static void stop() {
		app.close();
	}

	private static List<String> calls(String function) {
		return CALLS.computeIfAbsent(function, (name) -> new CopyOnWriteArrayList<>());
	}

	private static List<String> calls(String function, String value) {
		return calls(function).stream().filter((call) -> call.contains(value)).toList();
	}

	private static String id() {
		return UUID.randomUUID().toString().substring(0, 8);
	}

	private static void awaitRead(String topic) {
		String last = id();
		StreamApp.send(topic, last, json(last));
		await().until(() -> !calls(topic, last).isEmpty());
	}

	private static String json(String id) {
		return "{\"id\":\"" + id + "\"}";
	}

	@Test
	void duplicateOfAConsumerIsSkipped() {
		String id = id();
		StreamApp.send("consume", null, json(id));
		StreamApp.send("consume", null, json(id));
		awaitRead("consume");
		assertThat(calls("consume", id)).containsExactly(id + " LEASED test/consume");
	}

	@Test
	void duplicateOfAFunctionSendsTheStoredResult() {
		String id = id();
		StreamApp.send("reply", id, json(id));
		StreamApp.send("reply", id, json(id));
		awaitRead("reply");
		assertThat(calls("reply", id)).containsExactly(id + " true");
		assertThat(StreamApp.read("reply-out", 3)).filteredOn((value) -> value.contains(id))
			.hasSize(2)
			.allMatch((value) -> value.equals("{\"id\":\"" + id + "\",\"number\":1}"));
		assertThat(app.bean(JdbcTemplate.class)
			.queryForObject("SELECT count(*) FROM receipt WHERE id = ?", Integer.class, id)).isEqualTo(1);
	}

	@ParameterizedTest
	@ValueSource(strings = { "consume", "once" })
	void blockedRecordIsNeitherRetriedNorDeadLettered(String function) {
		String id = id();
		// The claim expires, so the consumer must have joined its group.
		awaitRead(function);
		app.claim("test/" + function, id);
		StreamApp.send(function, id, json(id));
		await().until(() -> app.bean(Events.class).blockedKeys.contains(id));
		assertThat(calls(function, id)).isEmpty();
		await().until(() -> !calls(function, id).isEmpty());
		awaitRead(function);
		assertThat(calls(function, id)).hasSize(1);
		assertThat(StreamApp.read("error." + function + ".test", 1, Duration.ofMillis(300))).isEmpty();
	}

	@Test
	void failedRecordIsRetriedByTheBindingAndMayBeSentAgain() {
		String id = id();
		StreamApp.send("failing", id, json(id));
		assertThat(StreamApp.read("error.failing.test", 1)).containsExactly(json(id));
		assertThat(calls("failing", id)).containsExactly(id + " 1", id + " 2", id + " 3");
		StreamApp.send("failing", id, json(id));
		await().until(() -> calls("failing", id).size() == 4);
		assertThat(calls("failing", id)).last().isEqualTo(id + " 4");
	}

	@Test
	void rejectedRecordIsDeadLetteredWithoutARetry() {
		String id = id();
		StreamApp.send("rejecting", null, json(id));
		assertThat(StreamApp.read("error.rejecting.test", 1)).containsExactly(json(id));
		assertThat(calls("rejecting", id)).isEmpty();
		assertThat(app.bean(Events.class).missing).hasValue(1);
	}

	@Test
	void functionOfAComponentIsProtected() {
		String id = id();
		StreamApp.send("component", id, json(id));
		StreamApp.send("component", id, json(id));
		awaitRead("component");
		assertThat(calls("component", id)).hasSize(1);
	}

	@Test
	void functionOfTheDocumentationChargesOnce() {
		JdbcTemplate jdbc = app.bean(JdbcTemplate.class);
		jdbc.execute("CREATE TABLE charge (payment_id VARCHAR(20), amount NUMERIC(10, 2))");
		String payment = "{\"paymentId\":\"p-1\",\"amount\":12.50}";
		StreamApp.send("charge", null, payment);
		StreamApp.send("charge", null, payment);
		assertThat(StreamApp.read("receipts", 2)).hasSize(2).allMatch((receipt) -> receipt.contains("p-1"));
		assertThat(jdbc.queryForObject("SELECT count(*) FROM charge", Integer.class)).isEqualTo(1);
	}

	@Test
	void functionInACompositionIsProtected() {
		String id = id();
		StreamApp.send("prefixcomposed", id, json(id));
		StreamApp.send("prefixcomposed", id, json(id));
		assertThat(StreamApp.read("prefixcomposed-out", 2)).hasSize(2).containsOnly("composed p-" + id);
		assertThat(calls("composed", id)).containsExactly("p-" + id);
	}

	record Order(String id) {

	}

	record Receipt(String id, int number) {

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	@Import({ ChargeFunctions.class, Component.class, Events.class })
	static class Functions {

		@Bean
		@Idempotent(key = "#payload.id", mode = Mode.LEASED)
		Consumer<Order> consume() {
			return (order) -> calls("consume").add(order.id() + " LEASED " + IdempotentExecution.current().scope());
		}

		@Bean
		@Idempotent
		Function<Message<Order>, Receipt> reply(JdbcTemplate jdbc) {
			jdbc.execute("CREATE TABLE receipt (id VARCHAR(20))");
			return (order) -> {
				String id = order.getPayload().id();
				jdbc.update("INSERT INTO receipt VALUES (?)", id);
				calls("reply").add(id + " " + TransactionSynchronizationManager.isActualTransactionActive());
				return new Receipt(id, calls("reply", id).size());
			};
		}

		@Bean
		@Idempotent(mode = Mode.LEASED)
		Consumer<Order> once() {
			return (order) -> calls("once").add(order.id());
		}

		@Bean
		@Idempotent
		Consumer<Order> failing() {
			return (order) -> {
				calls("failing").add(order.id() + " " + IdempotentExecution.current().attempt());
				if (calls("failing", order.id()).size() <= 3) {
					throw new IllegalStateException("failed");
				}
			};
		}

		@Bean
		@Idempotent(onMissingKey = MissingKeyPolicy.REJECT)
		Consumer<Order> rejecting() {
			return (order) -> calls("rejecting").add(order.id());
		}

		@Bean
		Function<Order, String> prefix() {
			return (order) -> "p-" + order.id();
		}

		@Bean
		@Idempotent
		Function<String, String> composed() {
			return (text) -> {
				calls("composed").add(text);
				return "composed " + text;
			};
		}

	}

	@org.springframework.stereotype.Component("component")
	@Idempotent(key = "#order.id()")
	static class Component implements Consumer<Order> {

		@Override
		public void accept(Order order) {
			calls("component").add(order.id());
		}

	}

	/**
	 * Notes the keys of blocked records, and counts records without a key.
	 */
	static class Events implements OperationObserver {

		private final List<String> blockedKeys = new CopyOnWriteArrayList<>();

		private final AtomicInteger missing = new AtomicInteger();

		@Override
		public void keyMissing(String listener, MissingKeyPolicy policy) {
			this.missing.incrementAndGet();
		}

		@Override
		public void handled(HandledOperation execution) {
			if (execution.outcome() == Outcome.IN_PROGRESS && execution.key() != null) {
				this.blockedKeys.add(execution.key().value());
			}
		}

	}

}
