/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.actuate;

import java.net.http.HttpResponse;
import java.security.Principal;
import java.util.Set;
import java.util.UUID;

import io.micrometer.core.instrument.MeterRegistry;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.Show;
import tools.jackson.databind.JsonNode;

import dev.idempotency.actuate.OutboxEndpoint.DeadLetterList;
import dev.idempotency.outbox.OutboxAdmin;
import dev.idempotency.template.Observers;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link OutboxEndpoint} over HTTP.
 */
class OutboxEndpointTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	// With the default properties.
	static EndpointApp reader;

	static EndpointApp writer;

	private final UUID id = UUID.randomUUID();

	@BeforeAll
	static void start() {
		reader = EndpointApp.withOutbox(database);
		writer = EndpointApp.withOutbox(database, "access=unrestricted", "show-values=always");
	}

	@AfterAll
	static void stop() {
		reader.close();
		writer.close();
	}

	private static JsonNode overview() {
		HttpResponse<String> response = reader.get("outbox");
		assertThat(response.statusCode()).isEqualTo(200);
		return EndpointApp.json(response);
	}

	private JsonNode shown(EndpointApp app) {
		HttpResponse<String> response = app.get("outbox/dead-letters?limit=1000");
		assertThat(response.statusCode()).isEqualTo(200);
		return EndpointApp.json(response)
			.path("messages")
			.valueStream()
			.filter((message) -> message.path("id").asString().equals(this.id.toString()))
			.findFirst()
			.orElseThrow();
	}

	private static String body(Object id) {
		return "{\"id\":\"" + id + "\"}";
	}

	@Test
	void overviewCountsMessages() {
		JsonNode before = overview();
		writer.send(this.id);
		writer.deadLetter(UUID.randomUUID());
		JsonNode after = overview();
		assertThat(after.path("table").asString()).isEqualTo("idempotency_outbox");
		assertThat(after.path("pending").asInt()).isEqualTo(before.path("pending").asInt() + 1);
		assertThat(after.path("deadLetters").asInt()).isEqualTo(before.path("deadLetters").asInt() + 1);
		assertThat(after.path("oldest").asString()).startsWith("PT");
	}

	@Test
	void messageIsShownWithoutPayloadAndHeaders() {
		writer.deadLetter(this.id);
		JsonNode message = shown(writer);
		assertThat(message.propertyNames()).containsExactlyInAnyOrder("id", "topic", "aggregateType", "aggregateId",
				"type", "idempotencyKey", "createdAt", "deadLetterAt", "attempts", "error");
		assertThat(message.path("topic").asString()).isEqualTo("payments");
		assertThat(message.path("aggregateType").asString()).isEqualTo("payment");
		assertThat(message.path("aggregateId").asString()).isEqualTo("42");
		assertThat(message.path("type").asString()).isEqualTo("PaymentCharged");
		assertThat(message.path("idempotencyKey").asString()).isEqualTo("order-42");
		assertThat(message.path("attempts").asInt()).isEqualTo(10);
		assertThat(message.at("/error/type").asString()).isEqualTo(RecordTooLargeException.class.getName());
	}

	@Test
	void messageOfTheErrorIsShownWhenConfigured() {
		writer.deadLetter(this.id);
		assertThat(shown(writer).at("/error/message").asString()).isEqualTo("card 4711");
		assertThat(shown(reader).path("error").propertyNames()).containsExactly("type");
		assertThat(reader.get("outbox/dead-letters").body()).doesNotContain("card 4711");
	}

	@ParameterizedTest
	@CsvSource({ "alice,true", ",false" })
	void messageOfTheErrorIsShownToAuthorizedUsersOnly(String name, boolean shown) {
		writer.deadLetter(this.id);
		OutboxEndpoint endpoint = new OutboxEndpoint(new OutboxAdmin(writer.outbox(), () -> {
		}, Observers.none()), Show.WHEN_AUTHORIZED, Set.of());
		DeadLetterList list = endpoint.view("dead-letters", 1, new User(name));
		assertThat(list.messages()).singleElement()
			.satisfies((message) -> assertThat(message.error().message()).isEqualTo(shown ? "card 4711" : null));
	}

	@ParameterizedTest
	@CsvSource({ "outbox/dead-letters?limit=0,400", "outbox/dead-letters?limit=1001,400",
			"outbox/dead-letters?limit=x,400", "outbox/nothing,404" })
	void impossibleReadIsRefused(String path, int status) {
		assertThat(reader.get(path).statusCode()).isEqualTo(status);
	}

	@Test
	void listEndsAtItsLimitAndBeginsWithTheLatest() {
		writer.deadLetter(UUID.randomUUID());
		writer.deadLetter(this.id);
		JsonNode messages = EndpointApp.json(reader.get("outbox/dead-letters?limit=1")).path("messages");
		assertThat(messages).hasSize(1);
		assertThat(messages.at("/0/id").asString()).isEqualTo(this.id.toString());
	}

	@ParameterizedTest
	@ValueSource(strings = { "retry", "discard" })
	void writeOperationsAreNotAllowedByDefault(String action) {
		writer.deadLetter(this.id);
		assertThat(reader.post("outbox/" + action, body(this.id)).statusCode()).isEqualTo(405);
		assertThat(shown(reader).path("id").asString()).as("still a dead letter").isEqualTo(this.id.toString());
	}

	@Test
	void retriedMessageIsPending() {
		writer.deadLetter(this.id);
		long pending = writer.outbox().status().pending();
		HttpResponse<String> response = writer.post("outbox/retry", body(this.id));
		assertThat(response.statusCode()).isEqualTo(200);
		assertThat(EndpointApp.json(response).path("outcome").asString()).isEqualTo("DONE");
		assertThat(EndpointApp.json(response).path("id").asString()).isEqualTo(this.id.toString());
		assertThat(writer.outbox().status().pending()).isEqualTo(pending + 1);
		assertThat(writer.post("outbox/retry", body(this.id)).statusCode()).isEqualTo(404);
	}

	@Test
	void discardedMessageIsDeleted() {
		writer.deadLetter(this.id);
		assertThat(writer.post("outbox/discard", body(this.id)).statusCode()).isEqualTo(200);
		assertThat(database.jdbc()
			.queryForObject("SELECT count(*) FROM idempotency_outbox WHERE id = ?", Integer.class, this.id)).isZero();
		assertThat(writer.post("outbox/discard", body(this.id)).statusCode()).isEqualTo(404);
	}

	@ParameterizedTest
	@ValueSource(strings = { "retry", "discard" })
	void pendingMessageIsNotChanged(String action) {
		writer.send(this.id);
		HttpResponse<String> response = writer.post("outbox/" + action, body(this.id));
		assertThat(response.statusCode()).isEqualTo(404);
		assertThat(EndpointApp.json(response).path("outcome").asString()).isEqualTo("ABSENT");
	}

	@ParameterizedTest
	@ValueSource(strings = { "{}", "{\"id\":\"42\"}", "{\"id\":42}", "{\"id\":null}" })
	void badIdentityIsRefusedWithAReason(String body) {
		for (String action : Set.of("retry", "discard")) {
			HttpResponse<String> response = writer.post("outbox/" + action, body);
			assertThat(response.statusCode()).isEqualTo(400);
			assertThat(EndpointApp.json(response).path("error").asString()).contains("'id'");
		}
	}

	@ParameterizedTest
	@CsvSource({ "retry,1", "discard,0" })
	void messagesOfATopicAreChangedTogetherAndCountedAsOneWrite(String action, int left) {
		String topic = "topic-" + this.id;
		writer.deadLetter(this.id);
		writer.deadLetter(UUID.randomUUID());
		database.jdbc().update("UPDATE idempotency_outbox SET topic = ? WHERE dead_letter_at IS NOT NULL", topic);
		int all = rows(topic);
		double done = writes(action, "done");
		String body = "{\"topic\":\"" + topic + "\"}";
		assertThat(reader.post("outbox/" + action, body).statusCode()).isEqualTo(405);
		JsonNode first = EndpointApp.json(writer.post("outbox/" + action, "{\"topic\":\"" + topic + "\",\"limit\":1}"));
		assertThat(first.propertyNames()).containsExactlyInAnyOrder("topic", "messages", "outcome");
		assertThat(first.path("messages").asInt()).isOne();
		HttpResponse<String> rest = writer.post("outbox/" + action, body);
		assertThat(rest.statusCode()).isEqualTo(200);
		assertThat(EndpointApp.json(rest).path("messages").asInt()).isEqualTo(all - 1);
		HttpResponse<String> none = writer.post("outbox/" + action, body);
		assertThat(none.statusCode()).isEqualTo(404);
		assertThat(EndpointApp.json(none).path("outcome").asString()).isEqualTo("ABSENT");
		assertThat(rows(topic)).isEqualTo(left * all);
		assertThat(writes(action, "done")).isEqualTo(done + 2);
		database.jdbc().update("DELETE FROM idempotency_outbox WHERE topic = ?", topic);
	}

	private static int rows(String topic) {
		return database.jdbc()
			.queryForObject("SELECT count(*) FROM idempotency_outbox WHERE topic = ?", Integer.class, topic);
	}

	@ParameterizedTest
	@ValueSource(strings = { "{\"topic\":\"t\",\"limit\":0}", "{\"topic\":\"t\",\"limit\":1001}",
			"{\"topic\":\"t\",\"id\":\"0199e7a1-5f00-7000-8000-000000000001\"}", "{\"topic\":\"\\u0000\"}",
			"{\"topics\":\"t\"}" })
	void badTopicOrLimitIsRefusedWithAReason(String body) {
		HttpResponse<String> response = writer.post("outbox/discard", body);
		assertThat(response.statusCode()).isEqualTo(400);
		assertThat(EndpointApp.json(response).path("error").asString()).containsAnyOf("'limit'", "'topic'", "'topics'");
	}

	@Test
	void unknownActionIsNotFound() {
		assertThat(writer.post("outbox/delete", body(this.id)).statusCode()).isEqualTo(404);
	}

	@Test
	void userOfAWriteIsLoggedAndTheWriteIsCounted() {
		writer.deadLetter(this.id);
		OutboxEndpoint endpoint = writer.context().getBean(OutboxEndpoint.class);
		double done = writes("discard", "done");
		double refused = writes("discard", "refused");
		try (Logs logs = Logs.ofThisThread()) {
			endpoint.change("discard", this.id.toString(), null, null, new User("ali\nce"));
			endpoint.change("discard", this.id.toString(), null, null, SecurityContext.NONE);
			assertThat(logs.messages("WARN")).containsExactly("Intervention: discard of the message " + this.id
					+ " in the outbox 'idempotency_outbox' by 'ali?ce'");
			assertThat(logs.messages("INFO")).singleElement()
				.asString()
				.contains("Not done: discard of the message " + this.id)
				.contains("by an unknown user; no such message is a dead letter");
		}
		assertThat(writes("discard", "done")).isEqualTo(done + 1);
		assertThat(writes("discard", "refused")).isEqualTo(refused + 1);
	}

	private static double writes(String operation, String outcome) {
		return writer.context()
			.getBean(MeterRegistry.class)
			.find("idempotency.endpoint.writes")
			.tags("operation", operation, "outcome", outcome)
			.counters()
			.stream()
			.mapToDouble((counter) -> counter.count())
			.sum();
	}

	@Test
	void refusalOfTheDatabaseIsServiceUnavailable() {
		database.jdbc().execute("ALTER TABLE idempotency_outbox RENAME TO away");
		try {
			assertThat(reader.get("outbox").statusCode()).isEqualTo(503);
			assertThat(reader.get("outbox/dead-letters").statusCode()).isEqualTo(503);
			assertThat(writer.post("outbox/retry", body(this.id)).statusCode()).isEqualTo(503);
		}
		finally {
			database.jdbc().execute("ALTER TABLE away RENAME TO idempotency_outbox");
		}
	}

	/**
	 * A user.
	 *
	 * @param name the name, {@code null} if not authenticated
	 */
	private record User(String name) implements SecurityContext {

		@Override
		public Principal getPrincipal() {
			return (this.name != null) ? () -> this.name : null;
		}

		@Override
		public boolean isUserInRole(String role) {
			return false;
		}

	}

}
