/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.dao.InvalidDataAccessResourceUsageException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.support.JsonKafkaHeaderMapper;
import org.springframework.kafka.support.converter.MessagingMessageConverter;
import org.springframework.kafka.support.serializer.JacksonJsonSerializer;
import org.springframework.messaging.MessageHeaders;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionException;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.producer.IdempotencyKeyInterceptor;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.catchThrowable;

/**
 * Tests for sending with an outbox.
 */
@Order(3)
class OutboxTests {

	private static ConfigurableApplicationContext context;

	private static Outbox outbox;

	private static JdbcTemplate jdbc;

	private static TransactionTemplate transactions;

	private final String topic = Servers.newTopic("outbox", 1);

	@BeforeAll
	static void start() {
		context = TestApp.of()
			.with("idempotency.outbox.enabled", true)
			.with("spring.kafka.producer.value-serializer", JacksonJsonSerializer.class.getName())
			.run();
		outbox = context.getBean(Outbox.class);
		jdbc = context.getBean(JdbcTemplate.class);
		transactions = new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
	}

	@AfterAll
	static void stop() {
		context.close();
	}

	private List<ConsumerRecord<String, String>> published(int count) {
		Awaitility.await().untilAsserted(() -> assertThat(Kafka.read(this.topic)).hasSize(count));
		return Kafka.read(this.topic);
	}

	private static String header(ConsumerRecord<?, ?> record, String name) {
		return new String(record.headers().lastHeader(name).value(), StandardCharsets.UTF_8);
	}

	// One that waits for notifications would keep the connection.
	@Test
	@Tag("promise-12")
	void relayLeavesTheConnectionOfAPoolOfOneToTheApplication() {
		String url = Servers.newDatabase();
		OutboxApp.start((app) -> app.database(url)).close();
		String topic = Servers.unique("one-connection");
		Servers.addTopics(1, topic);
		try (OutboxApp app = OutboxApp.start((one) -> one.database(url)
			.with("idempotency.jdbc.schema", "validate")
			.with("spring.datasource.hikari.maximum-pool-size", 1)
			.with("spring.datasource.hikari.connection-timeout", 5000))) {
			app.send(topic, "key", "first");
			Awaitility.await().until(() -> Kafka.read(topic).size() == 1);
			app.send(topic, "key", "second");
			Awaitility.await().until(() -> Kafka.read(topic).size() == 2);
		}
	}

	@Test
	void committedMessageIsPublished() {
		transactions.executeWithoutResult((status) -> outbox.send(this.topic, "account-1", Map.of("amount", 7)));
		ConsumerRecord<String, String> record = published(1).get(0);
		assertThat(record.key()).isEqualTo("account-1");
		assertThat(record.value()).isEqualTo("{\"amount\":7}");
		assertThat(header(record, OutboxRow.KEY_HEADER)).isNotBlank();
		assertThat(header(record, OutboxRow.ID_HEADER)).isNotBlank();
	}

	@Test
	void messageEqualsOneThatTheTemplateSends() {
		Map<String, Integer> payload = Map.of("amount", 7);
		context.getBean(KafkaTemplate.class).send(this.topic, "account-1", payload).join();
		transactions.executeWithoutResult((status) -> outbox.send(this.topic, "account-1", payload));
		List<ConsumerRecord<String, String>> records = published(2);
		ConsumerRecord<String, String> stored = records.get(1);
		assertThat(stored.value()).isEqualTo(records.get(0).value());
		assertThat(stored.key()).isEqualTo(records.get(0).key());
		stored.headers().remove(OutboxRow.KEY_HEADER).remove(OutboxRow.ID_HEADER).remove(OutboxRow.TIME_HEADER);
		assertThat(stored.headers()).isEqualTo(records.get(0).headers()).isNotEmpty();
	}

	// The documentation describes this order.
	@Test
	void idHeaderIsNotMappedToTheIdOfASpringMessage() {
		transactions.executeWithoutResult((status) -> outbox.send(this.topic, "account-1", "x"));
		ConsumerRecord<String, String> record = published(1).get(0);
		MessagingMessageConverter converter = new MessagingMessageConverter();
		MessageHeaders headers = converter.toMessage(record, null, null, String.class).getHeaders();
		assertThatIllegalArgumentException().isThrownBy(headers::getId);
		converter.setGenerateMessageId(true);
		converter.setHeaderMapper(JsonKafkaHeaderMapper.forInboundOnlyWithMatchers("!id", "*"));
		headers = converter.toMessage(record, null, null, String.class).getHeaders();
		assertThat(headers.getId()).isNotNull();
		assertThat(headers).containsKey(OutboxRow.KEY_HEADER);
	}

	@Test
	void rolledBackMessageIsNeverPublished() {
		transactions.executeWithoutResult((status) -> {
			outbox.send(this.topic, "account-1", "no");
			status.setRollbackOnly();
		});
		transactions.executeWithoutResult((status) -> outbox.send(this.topic, "account-1", "yes"));
		assertThat(published(1)).extracting(ConsumerRecord::value).containsExactly("\"yes\"");
	}

	@Test
	void sendWithoutATransactionIsRefused() {
		assertThatIllegalStateException().isThrownBy(() -> outbox.send(this.topic, "account-1", "secret"))
			.withMessageStartingWith(
					"No transaction is active for the message to " + this.topic + " with key account-1. ")
			.withMessageNotContaining("secret");
	}

	@Test
	void keyOfAMessageForgesNoLineOfTheLog() {
		OutboxMessage message = OutboxMessage.to("payments").key("a\r\nERROR\u001b[31m\u2028\u00e4").build();
		assertThat(message).hasToString("message to payments with key a??ERROR?[31m?\u00e4");
	}

	@Test
	void messageThatCannotBeSerializedIsRefusedWithoutItsContent() {
		Map<String, Object> unserialisable = Map.of("secret", new Object());
		assertThatIllegalArgumentException()
			.isThrownBy(
					() -> transactions.executeWithoutResult((status) -> outbox.send(this.topic, "k", unserialisable)))
			.withMessageContaining(JacksonJsonSerializer.class.getName())
			.withMessageNotContaining("java.lang.Object");
	}

	@Test
	void messagesWithOneKeyKeepTheirOrder() {
		int count = 300;
		transactions.executeWithoutResult((status) -> outbox.send(IntStream.range(0, count)
			.mapToObj((i) -> OutboxMessage.to(this.topic).key("account-1").payload(i).build())
			.toList()));
		assertThat(published(count)).extracting(ConsumerRecord::value)
			.containsExactlyElementsOf(IntStream.range(0, count).mapToObj(String::valueOf).toList());
	}

	@Test
	void headersAndTombstonesArriveUnchanged() {
		byte[] bytes = { 0, -1, 38, 61, 37, 10 };
		transactions.executeWithoutResult((status) -> outbox.send(OutboxMessage.to(this.topic)
			.header("bytes & =", bytes)
			.header("text", "grün")
			.header("nothing", (byte[]) null)
			.header("text", "")
			.build()));
		ConsumerRecord<String, String> record = published(1).get(0);
		assertThat(record.key()).isNull();
		assertThat(record.value()).isNull();
		assertThat(record.headers().lastHeader("bytes & =").value()).isEqualTo(bytes);
		assertThat(record.headers().lastHeader("nothing").value()).isNull();
		assertThat(record.headers().headers("text"))
			.extracting((header) -> new String(header.value(), StandardCharsets.UTF_8))
			.containsExactly("grün", "");
	}

	// Transactional event listeners run after the completion. The transaction still looks
	// active there, so that a method with @Transactional joins it.
	@ParameterizedTest
	@CsvSource({ "true, false", "false, false", "true, true", "false, true" })
	void messageAfterTheEndOfTheTransactionIsRefused(boolean committed, boolean joined) {
		List<Throwable> refused = new ArrayList<>();
		Runnable send = () -> refused.add(catchThrowable(() -> outbox.send(this.topic, "account-1", "late")));
		Runnable late = joined ? () -> transactions.executeWithoutResult((status) -> send.run()) : send;
		TransactionTemplate independent = new TransactionTemplate(transactions.getTransactionManager());
		independent.setPropagationBehavior(TransactionDefinition.PROPAGATION_REQUIRES_NEW);
		transactions.executeWithoutResult((status) -> {
			TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

				@Override
				public void afterCommit() {
					late.run();
				}

				@Override
				public void afterCompletion(int status) {
					late.run();
					independent.executeWithoutResult((begun) -> outbox.send(OutboxTests.this.topic, "k", "accepted"));
					late.run();
				}

			});
			if (!committed) {
				status.setRollbackOnly();
			}
		});
		assertThat(refused).hasSize(committed ? 3 : 2)
			.allSatisfy((error) -> assertThat(error).isInstanceOf(IllegalStateException.class)
				.hasMessageMatching(
						"(The transaction of|No transaction is active for) the message .*to " + this.topic + ".*"));
		assertThat(published(1)).extracting(ConsumerRecord::value).containsExactly("\"accepted\"");
	}

	@Test
	void messageBeforeTheCommitIsAccepted() {
		try (Logs logs = Logs.ofThisThread()) {
			transactions.executeWithoutResult((status) -> TransactionSynchronizationManager
				.registerSynchronization(new TransactionSynchronization() {

					@Override
					public void beforeCommit(boolean readOnly) {
						outbox.send(OutboxTests.this.topic, "account-1", "in time");
					}

				}));
			assertThat(published(1)).hasSize(1);
			assertThat(logs.messages("ERROR")).isEmpty();
		}
	}

	@Test
	void commitSucceedsWhenTheRelayCannotBeWoken() {
		Outbox ending = Outbox.of(context.getBean(OutboxStore.class), context.getBean(OutboxSerializer.class),
				List.of(), () -> {
					throw new IllegalStateException("The context is being closed");
				});
		new TransactionTemplate(context.getBean(PlatformTransactionManager.class))
			.executeWithoutResult((status) -> ending.send(this.topic, "account-1", "x"));
		assertThat(published(1)).hasSize(1);
	}

	// Not an outage of the store, which would block the record.
	@Test
	void rowThatTheDatabaseRefusesFailsTheHandler() {
		TransactionTemplate readOnly = new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
		readOnly.setReadOnly(true);
		assertThatExceptionOfType(InvalidDataAccessResourceUsageException.class)
			.isThrownBy(() -> readOnly.executeWithoutResult((status) -> outbox.send(this.topic, "account-1", "x")))
			.withMessageContaining("SQL state 25006");
	}

	// As on a connection to a server that is no longer the primary.
	@Test
	@Tag("promise-11")
	void readOnlyServerIsAnOutage() {
		TransactionTemplate transaction = new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
		JdbcTemplate jdbc = context.getBean(JdbcTemplate.class);
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
			.isThrownBy(() -> transaction.executeWithoutResult((status) -> {
				jdbc.execute("SET TRANSACTION READ ONLY");
				outbox.send(this.topic, "account-1", "x");
			}));
	}

	@Test
	@Tag("promise-14")
	void transactionThatTheServerHasTerminatedIsARefusal() {
		TransactionTemplate transaction = new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
		JdbcTemplate jdbc = context.getBean(JdbcTemplate.class);
		List<Throwable> failures = new ArrayList<>();
		assertThatExceptionOfType(TransactionException.class)
			.isThrownBy(() -> transaction.executeWithoutResult((status) -> {
				jdbc.execute("SET LOCAL idle_in_transaction_session_timeout = '100ms'");
				Integer session = jdbc.queryForObject("SELECT pg_backend_pid()", Integer.class);
				Awaitility.await()
					.untilAsserted(() -> assertThat(CompletableFuture
						.supplyAsync(() -> jdbc.queryForList("SELECT pid FROM pg_stat_activity WHERE pid = ?", session))
						.join()).isEmpty());
				failures.add(catchThrowable(() -> outbox.send(this.topic, "account-1", "x")));
			}));
		assertThat(failures).singleElement().isInstanceOf(IdempotencyStoreRefusedException.class);
	}

	@Test
	void invalidNamesAreRefused() {
		assertThatIllegalArgumentException()
			.isThrownBy(() -> OutboxMessage.to(this.topic).aggregate("payment", "4\u00002"))
			.withMessage("The aggregate id of a message has a control character");
		assertThatIllegalArgumentException().isThrownBy(() -> OutboxMessage.to(" "));
		assertThatIllegalArgumentException()
			.isThrownBy(() -> OutboxMessage.to(this.topic).header("Idempotency-Key", "x"))
			.withMessageEndingWith("Set the key with idempotencyKey(…)");
		assertThatIllegalArgumentException().isThrownBy(() -> OutboxMessage.to(this.topic).header("id", "x"))
			.withMessageEndingWith("in which the relay sends the id of the row, as Debezium does. Use another name");
	}

	@Test
	void keyInterceptorOfTheApplicationDoesNotChangeTheKey() {
		try (OutboxApp app = OutboxApp.start((settings) -> settings
			.with("spring.kafka.producer.properties.interceptor.classes",
					IdempotencyKeyInterceptor.class.getName() + ", " + Signature.class.getName())
			.with("spring.kafka.producer.properties." + IdempotencyKeyInterceptor.HEADER_CONFIG, "X-Key"))) {
			app.inTransaction(
					() -> app.outbox().send(OutboxMessage.to(this.topic).payload("x").header("X-Key", "own").build()));
			ConsumerRecord<String, String> record = published(1).get(0);
			assertThat(record.headers().headers("X-Key")).extracting((header) -> new String(header.value()))
				.containsExactly(header(record, OutboxRow.KEY_HEADER));
			assertThat(header(record, "signature")).isEqualTo("signed");
		}
	}

	@Test
	void rowNamesTheAggregate() {
		transactions.executeWithoutResult((status) -> outbox.send(OutboxMessage.to(this.topic)
			.key("account-1")
			.payload("x")
			.aggregate("payment", "42")
			.type("payment-charged")
			.idempotencyKey("given")
			.build()));
		published(1);
		assertThat(jdbc.queryForMap(
				"SELECT aggregatetype, aggregateid, type, idempotency_key FROM idempotency_outbox " + "WHERE topic = ?",
				this.topic))
			.isEqualTo(Map.of("aggregatetype", "payment", "aggregateid", "42", "type", "payment-charged",
					"idempotency_key", "given"));
	}

	/**
	 * An interceptor of the application.
	 */
	public static final class Signature extends PlainInterceptor {

		@Override
		public ProducerRecord<Object, Object> onSend(ProducerRecord<Object, Object> record) {
			record.headers().add("signature", "signed".getBytes(StandardCharsets.UTF_8));
			return record;
		}

	}

}
