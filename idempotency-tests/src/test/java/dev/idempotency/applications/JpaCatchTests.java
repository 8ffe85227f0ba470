/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.applications;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;

import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.NestedTransactionNotSupportedException;
import org.springframework.transaction.UnexpectedRollbackException;

import dev.idempotency.applications.ApplicationsTests.Form;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Runs the listeners of {@code docs/migrating.md} that catch the exception of a
 * {@code @Transactional} service, with Spring Data JPA. Each listener receives a message
 * whose id is in the hand-made table, and a new one.
 */
@Tag("promise-1")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class JpaCatchTests {

	private static final int CALLS = 10;

	private static final List<String> LISTENERS = List.of("saving", "leased", "nested", "inside", "native");

	private final Map<Form, App> apps = new EnumMap<>(Form.class);

	@BeforeAll
	void start() {
		Stream.of(Form.values()).parallel().map(App::new).toList().forEach((app) -> this.apps.put(app.form, app));
		this.apps.values().forEach(App::awaitDone);
	}

	@AfterAll
	void stop() {
		this.apps.values().forEach((app) -> app.context.close());
	}

	private void assertCalledOnce(Form form, String listener) {
		assertThat(this.apps.get(form).deliveries(listener)).hasSize(2).containsOnlyNulls();
		assertEffects(form, listener);
	}

	private void assertEffects(Form form, String listener) {
		assertThat(this.apps.get(form).effects("old-" + listener)).isEmpty();
		assertThat(this.apps.get(form).effects("new-" + listener)).containsExactly("paid");
	}

	@Test
	void listenerThatCatchesTheExceptionOfSaveAndFlushIsCalledTenTimesAndTheRecordIsSkipped() {
		assertCalledOnce(Form.WITHOUT, "saving");
		assertEffects(Form.WITH, "saving");
		assertThat(this.apps.get(Form.WITH).failures("saving")).hasSize(CALLS)
			.allSatisfy((failure) -> assertThat(failure).isInstanceOf(UnexpectedRollbackException.class)
				.hasMessageContaining("let it ignore a row that exists"));
		assertThat(this.apps.get(Form.WITH).state("old-saving")).isEqualTo("F");
	}

	@ParameterizedTest
	@ValueSource(strings = { "native", "leased" })
	void listenerOfThePageIsCalledOnce(String listener) {
		assertCalledOnce(Form.WITHOUT, listener);
		assertCalledOnce(Form.WITH, listener);
		assertThat(this.apps.get(Form.WITH).state("old-" + listener)).isEqualTo("C");
	}

	@ParameterizedTest
	@EnumSource
	void exceptionOfARepositoryMarksTheTransactionAlsoWithoutTheLibrary(Form form) {
		assertEffects(form, "inside");
		assertThat(this.apps.get(form).failures("inside")).hasSize(CALLS)
			.hasOnlyElementsOfType(UnexpectedRollbackException.class);
	}

	@Test
	void savepointFailsForEachRecord() {
		assertCalledOnce(Form.WITHOUT, "nested");
		assertThat(this.apps.get(Form.WITH).failures("nested")).hasSize(2 * CALLS)
			.hasOnlyElementsOfType(NestedTransactionNotSupportedException.class);
		assertThat(this.apps.get(Form.WITH).effects("new-nested")).isEmpty();
	}

	@Import({ JpaCatchingApplication.class, Effects.class, Deliveries.class })
	static class SharedConfiguration {

	}

	private static final class App {

		final Form form;

		final ConfigurableApplicationContext context;

		private final String prefix = Servers.unique("jpa");

		App(Form form) {
			this.form = form;
			Servers.addTopics(1, LISTENERS.stream().map(this::topic).toArray(String[]::new));
			String database = Servers.newDatabase();
			JdbcTemplate jdbc = Servers.jdbc(database);
			jdbc.execute("CREATE TABLE processed_message (id text PRIMARY KEY)");
			for (String listener : LISTENERS) {
				// It was processed before the library came.
				jdbc.update("INSERT INTO processed_message VALUES (?)", listener);
				send(listener, listener, "old-" + listener);
				send(listener, "new-" + listener, "new-" + listener);
			}
			this.context = TestApp.of(SharedConfiguration.class)
				.jpa()
				.database(database)
				.with("prefix", this.prefix)
				.with("idempotency.enabled", form == Form.WITH)
				.run();
		}

		private void send(String listener, String messageId, String order) {
			ProducerRecord<String, String> record = new ProducerRecord<>(topic(listener), order);
			record.headers().add("message-id", messageId.getBytes(StandardCharsets.UTF_8));
			Kafka.send(record);
		}

		String topic(String listener) {
			return this.prefix + "-" + listener;
		}

		void awaitDone() {
			LISTENERS.forEach((listener) -> await().atMost(Duration.ofSeconds(60))
				.until(() -> Kafka.lag(topic(listener), topic(listener)) == 0));
		}

		List<Throwable> deliveries(String listener) {
			return this.context.getBean(Deliveries.class).of(topic(listener));
		}

		List<Throwable> failures(String listener) {
			return deliveries(listener).stream().filter(Objects::nonNull).toList();
		}

		List<String> effects(String id) {
			return this.context.getBean(Effects.class).of(id);
		}

		String state(String key) {
			return this.context.getBean(JdbcTemplate.class)
				.queryForObject("SELECT state::text FROM idempotency_record WHERE key = ?", String.class, key);
		}

	}

}
