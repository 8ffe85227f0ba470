/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.applications;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.stream.Stream;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.condition.JRE;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.support.serializer.JacksonJsonDeserializer;
import org.springframework.kafka.support.serializer.JacksonJsonSerializer;
import org.springframework.transaction.UnexpectedRollbackException;

import dev.idempotency.applications.BatchApplication.Measurement;
import dev.idempotency.applications.HandlersApplication.Audited;
import dev.idempotency.applications.HandlersApplication.Closed;
import dev.idempotency.applications.HandlersApplication.Opened;
import dev.idempotency.applications.ReplyApplication.OpenAccount;
import dev.idempotency.applications.RetryTopicApplication.Shipment;
import dev.idempotency.applications.SagaApplication.Command;
import dev.idempotency.applications.SagaApplication.Step;
import dev.idempotency.applications.TutorialApplication.OrderPlaced;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Runs the same applications without and with the library. When each record is sent once,
 * both forms have the same effects. When each record is sent twice, the effects happen
 * twice without the library, and once with it.
 */
@Tag("promise-1")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ApplicationsTests {

	private static final Duration TIMEOUT = Duration.ofSeconds(60);

	// The group that reads a topic has its name.
	private static final List<String> TOPICS = List.of("saga-stock", "saga-payment", "saga-replies", "tutorial",
			"shipments", "shipments-retry", "shipments-dlt", "accounts", "handlers", "batch", "kotlin", "table", "card",
			"nested", "inside", "leased");

	private final Map<Form, App> apps = new EnumMap<>(Form.class);

	@BeforeAll
	void start() {
		List<App> started = Stream.of(Form.values()).parallel().map(App::new).toList();
		started.forEach((app) -> {
			this.apps.put(app.form, app);
			sendEverything(app);
		});
		started.forEach(App::awaitDone);
	}

	@AfterAll
	void stop() {
		this.apps.values().forEach((app) -> app.context.close());
	}

	private static void sendEverything(App app) {
		for (Times times : Times.values()) {
			app.send("saga-stock", times, "accepted", (id) -> new Command(id, Step.RESERVE, 10));
			app.send("saga-stock", times, "refused", (id) -> new Command(id, Step.RESERVE, 1000));
			app.send("tutorial", times, "placed", (id) -> new OrderPlaced(id, 10));
			app.send("shipments", times, "late", (id) -> new Shipment(id, 1));
			app.send("accounts", times, "opens", (id) -> new OpenAccount(id, "Ada"));
			app.send("handlers", times, "event", Opened::new);
			app.send("handlers", times, "event", Closed::new);
			app.send("handlers", times, "event", Audited::new);
			app.send("batch", times, "first", (id) -> new Measurement(id, 21));
			app.send("batch", times, "second", (id) -> new Measurement(id, 22));
			app.send("kotlin", times, "flight", (id) -> new Booking(id, "12A"));
		}
		app.send("shipments", "never", new Shipment("never", 9));
		app.send("tutorial", "same", new OrderPlaced("same", 10));
		app.send("tutorial", "same", new OrderPlaced("same", 10));
		// It was processed before the library came.
		app.context.getBean(JdbcTemplate.class).update("INSERT INTO processed_message VALUES ('old')");
		for (String topic : List.of("table", "nested", "card", "inside", "leased", "declining")) {
			app.send(topic, "old", new OrderPlaced(topic, 1000));
		}
		for (String topic : List.of("table", "nested", "card", "inside", "leased")) {
			app.send(topic, topic, new OrderPlaced("new-" + topic, 10));
		}
	}

	@ParameterizedTest
	@EnumSource
	void sagaReservesAndConfirms(Form form) {
		assertEffects(form, "accepted", "order CONFIRM", "payment CONFIRM", "payment RESERVE", "stock CONFIRM",
				"stock RESERVE");
	}

	@ParameterizedTest
	@EnumSource
	void sagaReservesAndCancels(Form form) {
		assertEffects(form, "refused", "order CANCEL", "payment refuses", "stock CANCEL", "stock RESERVE");
	}

	@ParameterizedTest
	@EnumSource
	void tutorialPaysAndWritesItsOutbox(Form form) {
		assertEffects(form, "placed", "paid");
		assertThat(this.apps.get(form).context.getBean(JdbcTemplate.class)
			.queryForList("SELECT count(*) FROM outbox WHERE aggregate_id LIKE '%-placed' GROUP BY aggregate_id "
					+ "ORDER BY aggregate_id", Integer.class))
			.containsExactly(1, (form == Form.WITH) ? 1 : 2);
	}

	@ParameterizedTest
	@EnumSource
	void tableOfTheTutorialRecognizesTheIdOfAMessage(Form form) {
		assertThat(this.apps.get(form).effects("same")).containsExactly("paid");
	}

	@ParameterizedTest
	@EnumSource
	void recordIsShippedAfterARetryOnAnotherTopic(Form form) {
		assertEffects(form, "late", "shipped");
		for (Times times : Times.values()) {
			assertThat(Kafka.read(this.apps.get(form).topic("shipments-retry")))
				.filteredOn((record) -> record.value().contains(times.id("late")))
				.hasSize(1);
		}
	}

	@ParameterizedTest
	@EnumSource
	void recordThatAlwaysFailsReachesTheHandlerOfDeadLetters(Form form) {
		assertThat(this.apps.get(form).effects("never")).containsExactly("given up after 3 attempts");
	}

	@ParameterizedTest
	@EnumSource
	void eachRequestHasAReply(Form form) {
		assertEffects(form, "opens", "opened for Ada");
		await().atMost(TIMEOUT).untilAsserted(() -> {
			assertThat(replies(form, Times.ONCE)).hasSize(1);
			assertThat(replies(form, Times.TWICE)).hasSize(2);
		});
		assertThat(replies(form, Times.TWICE).stream().distinct()).hasSize((form == Form.WITH) ? 1 : 2);
	}

	private List<String> replies(Form form, Times times) {
		return Kafka.read(this.apps.get(form).topic("accounts-replies"))
			.stream()
			.map(ConsumerRecord::value)
			.filter((reply) -> reply.contains(times.id("opens")))
			.toList();
	}

	@ParameterizedTest
	@EnumSource
	@EnabledForJreRange(min = JRE.JAVA_21)
	void listenersRunOnVirtualThreads(Form form) {
		assertThat(TestApp.target(this.apps.get(form).context, ReplyApplication.class).threads).isNotEmpty()
			.allMatch((thread) -> thread.startsWith("VirtualThread["));
	}

	@ParameterizedTest
	@EnumSource
	void eachTypeReachesItsMethod(Form form) {
		assertEffects(form, "event", "closed", "opened", "other");
	}

	@ParameterizedTest
	@EnumSource
	void batchIsStored(Form form) {
		assertEffects(form, "first", "measured 21");
		assertEffects(form, "second", "measured 22");
	}

	@ParameterizedTest
	@EnumSource
	void listenerInKotlinBooks(Form form) {
		assertEffects(form, "flight", "booked 12A");
	}

	private void assertEffects(Form form, String name, String... effects) {
		int times = (form == Form.WITH) ? 1 : 2;
		List<String> twice = Collections.nCopies(times, List.of(effects)).stream().flatMap(List::stream).toList();
		App app = this.apps.get(form);
		// The producer of the saga sends in the background.
		await().atMost(TIMEOUT).untilAsserted(() -> {
			assertThat(app.effects(Times.ONCE.id(name))).containsExactlyInAnyOrder(effects);
			assertThat(app.effects(Times.TWICE.id(name))).containsExactlyInAnyOrderElementsOf(twice);
		});
	}

	@ParameterizedTest
	@CsvSource({ "table, paid", "card, charged", "nested, paid", "inside, charged", "leased, paid" })
	void newOrderHasItsEffectWhicheverExceptionItsListenerCatches(String name, String effect) {
		for (App app : this.apps.values()) {
			assertThat(app.effects("new-" + name)).containsExactly(effect);
		}
	}

	// docs/migrating.md
	@ParameterizedTest
	@CsvSource({ "table, 'let it ignore a row that exists',", "card, 'catch it inside of that method', refused" })
	void handlerThatCatchesTheExceptionOfItsServiceIsCalledTenTimesAndTheRecordIsSkipped(String name, String advice,
			String effect) {
		assertThat(this.apps.get(Form.WITHOUT).deliveries(name)).hasSize(2).containsOnlyNulls();
		assertThat(this.apps.get(Form.WITHOUT).effects(name)).isEqualTo(Stream.ofNullable(effect).toList());
		assertThat(this.apps.get(Form.WITH).deliveries(name)).hasSize(11)
			.filteredOn((failure) -> failure != null)
			.hasSize(10)
			.allSatisfy((failure) -> assertThat(failure).isInstanceOf(UnexpectedRollbackException.class)
				.hasMessageContaining(advice));
		assertThat(this.apps.get(Form.WITH).effects(name)).isEmpty();
		assertThat(this.apps.get(Form.WITH).state(name)).isEqualTo("F");
	}

	// docs/migrating.md
	@ParameterizedTest
	@CsvSource({ "nested", "inside", "leased" })
	void handlerWithItsCatchElsewhereIsCalledOnce(String name) {
		for (App app : this.apps.values()) {
			assertThat(app.deliveries(name)).hasSize(2).containsOnlyNulls();
		}
		assertThat(this.apps.get(Form.WITH).effects(name)).isEqualTo(this.apps.get(Form.WITHOUT).effects(name));
		assertThat(this.apps.get(Form.WITH).state(name)).isEqualTo("C");
	}

	// docs/migrating.md
	@Test
	void refusalThatDeclinesTheOperationIsCalledOnce() {
		App app = this.apps.get(Form.WITH);
		await().atMost(TIMEOUT).until(() -> app.lag("declining") == 0);
		assertThat(app.deliveries("declining")).hasSize(1).containsOnlyNulls();
		assertThat(app.effects("declining")).isEmpty();
		assertThat(app.state("declining")).isEqualTo("C");
	}

	/**
	 * Whether the application has the library.
	 */
	enum Form {

		WITHOUT, WITH

	}

	/**
	 * How often a record is sent.
	 */
	enum Times {

		ONCE, TWICE;

		String id(String name) {
			return name().toLowerCase() + "-" + name;
		}

	}

	@Import({ Effects.class, Deliveries.class, SagaApplication.class, TutorialApplication.class,
			RetryTopicApplication.class, ReplyApplication.class, HandlersApplication.class, BatchApplication.class,
			KotlinApplication.class, CatchingApplication.class })
	static class SharedConfiguration {

	}

	private static final class App {

		final Form form;

		final ConfigurableApplicationContext context;

		private final String prefix = Servers.unique("applications");

		private final List<CompletableFuture<?>> sent = new ArrayList<>();

		App(Form form) {
			this.form = form;
			Servers.addTopics(1,
					Stream.concat(TOPICS.stream(), Stream.of("accounts-replies", "declining"))
						.map(this::topic)
						.toArray(String[]::new));
			TestApp app = (form == Form.WITH) ? TestApp.of(SharedConfiguration.class, DecliningListener.class)
					: TestApp.of(SharedConfiguration.class);
			this.context = app.with("prefix", this.prefix)
				.with("idempotency.enabled", form == Form.WITH)
				.with("spring.threads.virtual.enabled", true)
				.with("spring.kafka.consumer.value-deserializer", JacksonJsonDeserializer.class.getName())
				.with("spring.kafka.consumer.properties.spring.json.trusted.packages", "dev.idempotency.applications")
				.with("spring.kafka.producer.value-serializer", JacksonJsonSerializer.class.getName())
				.run();
		}

		String topic(String name) {
			return this.prefix + "-" + name;
		}

		// A copy that the producer sends again has another id.
		void send(String topic, Times times, String name, Function<String, Object> payload) {
			for (int i = 0; i <= times.ordinal(); i++) {
				send(topic, times.id(name) + "-" + i, payload.apply(times.id(name)));
			}
		}

		@SuppressWarnings("unchecked")
		void send(String topic, String messageId, Object payload) {
			ProducerRecord<Object, Object> record = new ProducerRecord<>(topic(topic), payload);
			record.headers().add("message-id", messageId.getBytes(StandardCharsets.UTF_8));
			this.sent.add(this.context.getBean(KafkaTemplate.class).send(record));
		}

		void awaitDone() {
			this.sent.forEach(CompletableFuture::join);
			// The saga may send a command to a topic that has just been read.
			await().atMost(TIMEOUT)
				.until(() -> effects(Times.TWICE.id("accepted")).size() >= 5
						&& TOPICS.stream().allMatch((topic) -> lag(topic) == 0)
						&& TOPICS.stream().allMatch((topic) -> lag(topic) == 0));
		}

		long lag(String topic) {
			return Kafka.lag(topic(topic), topic(topic));
		}

		List<String> effects(String id) {
			return this.context.getBean(Effects.class).of(id);
		}

		List<Throwable> deliveries(String topic) {
			return this.context.getBean(Deliveries.class).of(topic(topic));
		}

		String state(String key) {
			return this.context.getBean(JdbcTemplate.class)
				.queryForObject("SELECT state::text FROM idempotency_record WHERE key = ?", String.class, key);
		}

	}

}
