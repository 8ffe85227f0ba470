/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.annotation.Bean;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.interceptor.TransactionAspectSupport;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.backoff.FixedBackOff;

import dev.idempotency.Idempotent;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for handlers with their own transaction: the writes of a failed handler are
 * rolled back, and the writes of a successful handler are committed once.
 */
@Tag("promise-5")
@Tag("promise-6")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class HandlerTransactionTests {

	private final Map<String, BatchApp> apps = new ConcurrentHashMap<>();

	@BeforeAll
	void start() {
		for (String mode : List.of("leased", "transactional")) {
			this.apps.put(mode, new BatchApp(new Class<?>[] { Effects.class, OnMethod.class, OnClass.class,
					Unprotected.class, Undoing.class, Inner.class }, mode));
		}
	}

	@AfterAll
	void stop() {
		this.apps.values().forEach(BatchApp::close);
	}

	@ParameterizedTest
	@CsvSource({ "leased, method", "leased, class", "transactional, method", "transactional, class" })
	void recordHasOneEffectOrNone(String mode, String name) {
		BatchApp app = this.apps.get(mode);
		app.send(name, "a a heals heals bad b a");
		app.start(name);
		app.awaitDone(name);
		Effects effects = app.listeners(Effects.class);
		assertThat(effects.runs(name)).containsExactly("a", "heals", "heals", "bad", "bad", "b");
		assertThat(effects.rows(name)).containsExactly("a", "heals", "b");
		assertThat(app.record(name, "heals").state()).isEqualTo(State.COMPLETED);
		assertThat(app.record(name, "bad").state()).isEqualTo(State.FAILED);
	}

	@ParameterizedTest
	@ValueSource(strings = { "leased", "transactional" })
	void batchHasOneEffect(String mode) {
		BatchApp app = this.apps.get(mode);
		app.complete("batch", "c", null);
		app.send("batch", "a b a c heals");
		app.start("batch");
		app.awaitDone("batch");
		Effects effects = app.listeners(Effects.class);
		assertThat(effects.runs("batch")).containsExactly("a", "b", "heals", "a", "b", "heals");
		assertThat(effects.rows("batch")).containsExactly("a", "b", "heals");
		assertThat(app.record("batch", "heals").state()).isEqualTo(State.COMPLETED);
	}

	@ParameterizedTest
	@ValueSource(strings = { "excluded", "keyless" })
	@Tag("promise-15")
	void recordWithoutProtectionHasOneEffectOrNone(String name) {
		BatchApp app = this.apps.get("transactional");
		sendWithoutKeys(app, name, "a heals bad b");
		app.start(name);
		app.awaitDone(name);
		Effects effects = app.listeners(Effects.class);
		assertThat(effects.runs(name)).containsExactly("a", "heals", "heals", "bad", "bad", "b");
		assertThat(effects.rows(name)).containsExactly("a", "heals", "b");
	}

	@ParameterizedTest
	@ValueSource(strings = { "keyless-batch", "excluded-batch" })
	@Tag("promise-15")
	void batchWithoutProtectionHasOneEffect(String name) {
		BatchApp app = this.apps.get("transactional");
		sendWithoutKeys(app, name, "a b heals");
		app.start(name);
		app.awaitDone(name);
		Effects effects = app.listeners(Effects.class);
		assertThat(effects.runs(name)).containsExactly("a", "b", "heals", "a", "b", "heals");
		assertThat(effects.rows(name)).containsExactly("a", "b", "heals");
	}

	@ParameterizedTest
	@ValueSource(strings = { "leased", "transactional" })
	@Tag("promise-3")
	void recordWhoseMethodSetsRollbackOnlyAndReturnsIsCompletedWithoutEffect(String mode) {
		BatchApp app = this.apps.get(mode);
		app.send("undoing", "a undo undo b undo");
		app.start("undoing");
		app.awaitDone("undoing");
		Effects effects = app.listeners(Effects.class);
		assertThat(effects.runs("undoing")).containsExactly("a", "undo", "b");
		assertThat(effects.rows("undoing")).containsExactly("a", "b");
		assertThat(app.record("undoing", "undo")).extracting(IdempotencyRecord::state, IdempotencyRecord::attempt)
			.containsExactly(State.COMPLETED, 1);
	}

	@ParameterizedTest
	@ValueSource(strings = { "leased", "transactional" })
	@Tag("promise-3")
	void batchWhoseMethodSetsRollbackOnlyAndReturnsIsCompletedWithoutEffect(String mode) {
		BatchApp app = this.apps.get(mode);
		app.send("undoing-batch", "a undo b a");
		app.start("undoing-batch");
		app.awaitDone("undoing-batch");
		Effects effects = app.listeners(Effects.class);
		assertThat(effects.runs("undoing-batch")).containsExactly("a", "undo", "b");
		assertThat(effects.rows("undoing-batch")).isEmpty();
		assertThat(app.record("undoing-batch", "a").state()).isEqualTo(State.COMPLETED);
		assertThat(app.record("undoing-batch", "b").state()).isEqualTo(State.COMPLETED);
	}

	// Spring throws an UnexpectedRollbackException.
	@ParameterizedTest
	@ValueSource(strings = { "leased", "transactional" })
	void recordWhoseMethodSwallowsTheErrorOfAnInnerTransactionHasFailed(String mode) {
		BatchApp app = this.apps.get(mode);
		app.send("swallowing", "a inner b");
		app.start("swallowing");
		app.awaitDone("swallowing");
		Effects effects = app.listeners(Effects.class);
		assertThat(effects.runs("swallowing")).containsExactly("a", "inner", "inner", "b");
		assertThat(effects.rows("swallowing")).containsExactly("a", "b");
		assertThat(app.record("swallowing", "inner")).extracting(IdempotencyRecord::state, IdempotencyRecord::attempt)
			.containsExactly(State.FAILED, 2);
	}

	@Test
	@Tag("promise-15")
	void unprotectedRecordWhoseMethodSetsRollbackOnlyIsNotRedelivered() {
		BatchApp app = this.apps.get("transactional");
		sendWithoutKeys(app, "undoing-keyless", "a undo b");
		app.start("undoing-keyless");
		app.awaitDone("undoing-keyless");
		Effects effects = app.listeners(Effects.class);
		assertThat(effects.runs("undoing-keyless")).containsExactly("a", "undo", "b");
		assertThat(effects.rows("undoing-keyless")).containsExactly("a", "b");
	}

	private static void sendWithoutKeys(BatchApp app, String name, String letters) {
		Servers.addTopics(1, app.name(name));
		for (String letter : letters.split(" ")) {
			Kafka.send(Kafka.record(app.name(name), 0, null, letter));
		}
	}

	/**
	 * A table that handlers write to.
	 */
	static class Effects {

		private final Map<String, Queue<String>> runs = new ConcurrentHashMap<>();

		private final JdbcTemplate jdbc;

		Effects(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
			jdbc.execute("CREATE TABLE effect (number serial, name text, value text)");
		}

		@Bean
		static DefaultErrorHandler errorHandler() {
			return new DefaultErrorHandler(new FixedBackOff(0, 1));
		}

		void write(String name, String value) {
			assertThat(TransactionSynchronizationManager.isActualTransactionActive()).isTrue();
			boolean first = !runs(name).contains(value);
			runs(name).add(value);
			this.jdbc.update("INSERT INTO effect (name, value) VALUES (?, ?)", name, value);
			if (value.equals("bad") || (first && value.equals("heals"))) {
				throw new IllegalStateException("fails");
			}
		}

		Queue<String> runs(String name) {
			return this.runs.computeIfAbsent(name, (unused) -> new ConcurrentLinkedQueue<>());
		}

		List<String> rows(String name) {
			return this.jdbc.queryForList("SELECT value FROM effect WHERE name = ? ORDER BY number", String.class,
					name);
		}

	}

	static class OnMethod {

		private final Effects effects;

		OnMethod(Effects effects) {
			this.effects = effects;
		}

		@Transactional
		@Idempotent(scope = "${prefix}-method")
		@KafkaListener(id = "${prefix}-method", topics = "${prefix}-method")
		void handle(String value) {
			this.effects.write("method", value);
		}

		@Transactional
		@Idempotent(scope = "${prefix}-batch")
		@KafkaListener(id = "${prefix}-batch", topics = "${prefix}-batch", batch = "true")
		void handle(List<String> values) {
			values.forEach((value) -> this.effects.write("batch", value));
		}

	}

	static class Unprotected {

		private final Effects effects;

		Unprotected(Effects effects) {
			this.effects = effects;
		}

		@Idempotent(condition = "false")
		@KafkaListener(id = "${prefix}-excluded", topics = "${prefix}-excluded")
		void excluded(String value) {
			this.effects.write("excluded", value);
		}

		@Idempotent(onMissingKey = MissingKeyPolicy.PROCESS)
		@KafkaListener(id = "${prefix}-keyless", topics = "${prefix}-keyless")
		void keyless(String value) {
			this.effects.write("keyless", value);
		}

		@Idempotent(onMissingKey = MissingKeyPolicy.PROCESS)
		@KafkaListener(id = "${prefix}-keyless-batch", topics = "${prefix}-keyless-batch", batch = "true")
		void keylessBatch(List<String> values) {
			values.forEach((value) -> this.effects.write("keyless-batch", value));
		}

		@Idempotent(condition = "false")
		@KafkaListener(id = "${prefix}-excluded-batch", topics = "${prefix}-excluded-batch", batch = "true")
		void excludedBatch(List<String> values) {
			values.forEach((value) -> this.effects.write("excluded-batch", value));
		}

	}

	static class Undoing {

		private final Effects effects;

		private final Inner inner;

		Undoing(Effects effects, Inner inner) {
			this.effects = effects;
			this.inner = inner;
		}

		@Transactional
		@Idempotent(scope = "${prefix}-undoing")
		@KafkaListener(id = "${prefix}-undoing", topics = "${prefix}-undoing")
		void handle(String value) {
			write("undoing", value);
		}

		@Transactional
		@Idempotent(onMissingKey = MissingKeyPolicy.PROCESS)
		@KafkaListener(id = "${prefix}-undoing-keyless", topics = "${prefix}-undoing-keyless")
		void handleWithoutKeys(String value) {
			write("undoing-keyless", value);
		}

		@Transactional
		@Idempotent(scope = "${prefix}-undoing-batch")
		@KafkaListener(id = "${prefix}-undoing-batch", topics = "${prefix}-undoing-batch", batch = "true")
		void handle(List<String> values) {
			values.forEach((value) -> write("undoing-batch", value));
		}

		@Transactional
		@Idempotent(scope = "${prefix}-swallowing")
		@KafkaListener(id = "${prefix}-swallowing", topics = "${prefix}-swallowing")
		void handleWithInner(String value) {
			this.effects.write("swallowing", value);
			try {
				this.inner.handle(value);
			}
			catch (IllegalStateException ex) {
				// Some handlers swallow exceptions.
			}
		}

		private void write(String name, String value) {
			this.effects.write(name, value);
			if (value.equals("undo")) {
				TransactionAspectSupport.currentTransactionStatus().setRollbackOnly();
			}
		}

	}

	static class Inner {

		@Transactional
		void handle(String value) {
			if (value.equals("inner")) {
				throw new IllegalStateException("fails");
			}
		}

	}

	@Transactional
	static class OnClass {

		private final Effects effects;

		OnClass(Effects effects) {
			this.effects = effects;
		}

		@Idempotent(scope = "${prefix}-class")
		@KafkaListener(id = "${prefix}-class", topics = "${prefix}-class")
		void handle(String value) {
			this.effects.write("class", value);
		}

	}

}
