/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.actuate;

import java.net.http.HttpResponse;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.util.UUID;
import java.util.stream.Stream;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.store.OffsetMark;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link IdempotencyEndpoint} over HTTP.
 */
class IdempotencyEndpointTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	// With the default properties.
	static EndpointApp reader;

	static EndpointApp writer;

	private final IdempotencyKey key = IdempotencyKey.of(Servers.unique("scope"), "tenant/1 & payment?=ü#7");

	@BeforeAll
	static void start() {
		reader = EndpointApp.start(database);
		writer = EndpointApp.start(database, "access=unrestricted", "show-values=always");
	}

	@AfterAll
	static void stop() {
		reader.close();
		writer.close();
	}

	static Stream<EndpointApp> apps() {
		return Stream.of(reader, writer);
	}

	private JsonNode entry(EndpointApp app, String list) {
		HttpResponse<String> response = app.get(list + "?limit=1000");
		assertThat(response.statusCode()).isEqualTo(200);
		return EndpointApp.json(response)
			.path("records")
			.valueStream()
			.filter((record) -> record.path("scope").asString().equals(this.key.scope()))
			.findFirst()
			.orElseThrow();
	}

	@ParameterizedTest(autoCloseArguments = false)
	@MethodSource("apps")
	void overviewCountsEachScope(EndpointApp app) {
		app.stuck(this.key);
		HttpResponse<String> response = app.get("");
		assertThat(response.statusCode()).isEqualTo(200);
		JsonNode overview = EndpointApp.json(response);
		assertThat(overview.path("store").asString()).isEqualTo("jdbc");
		assertThat(overview.path("complete").booleanValue()).isTrue();
		JsonNode scope = overview.path("scopes")
			.valueStream()
			.filter((each) -> each.path("name").asString().equals(this.key.scope()))
			.findFirst()
			.orElseThrow();
		assertThat(scope.path("inProgress").intValue()).isOne();
		assertThat(scope.path("stuck").intValue()).isOne();
		assertThat(scope.path("oldestInProgress").asString()).startsWith("PT");
	}

	@ParameterizedTest(autoCloseArguments = false)
	@MethodSource("apps")
	void keyWithSlashesIsFound(EndpointApp app) {
		app.completed(this.key);
		HttpResponse<String> response = app.get("/record" + EndpointApp.query(this.key));
		assertThat(response.statusCode()).isEqualTo(200);
		JsonNode record = EndpointApp.json(response);
		assertThat(record.path("key").asString()).isEqualTo(this.key.value());
		assertThat(record.path("state").asString()).isEqualTo("COMPLETED");
		assertThat(record.path("expiresAt").asString()).matches("\\d{4}-\\d\\d-\\d\\dT.*Z");
	}

	@ParameterizedTest(autoCloseArguments = false)
	@MethodSource("apps")
	void versionThatCompletedLastIsShown(EndpointApp app) {
		app.completed(this.key, 7);
		JsonNode record = EndpointApp.json(app.get("/record" + EndpointApp.query(this.key)));
		assertThat(record.path("version").longValue()).isEqualTo(7);
	}

	@ParameterizedTest(autoCloseArguments = false)
	@MethodSource("apps")
	void stuckKeyIsListed(EndpointApp app) {
		app.stuck(this.key);
		assertThat(entry(app, "/stuck").path("claimedUntil").asString()).isNotEmpty();
	}

	@ParameterizedTest(autoCloseArguments = false)
	@MethodSource("apps")
	void failedKeyIsListedWithTypeAndAttempts(EndpointApp app) {
		app.failed(this.key);
		app.failed(this.key);
		JsonNode record = entry(app, "/failed");
		assertThat(record.path("attempt").intValue()).isEqualTo(2);
		assertThat(record.at("/error/type").asString()).isEqualTo("com.example.CardDeclined");
	}

	@ParameterizedTest(autoCloseArguments = false)
	@MethodSource("apps")
	void outcomeThatCannotBeRestoredIsMarked(EndpointApp app) {
		ClaimRequest request = TestDatabase.request(this.key);
		one(database.store()).claim(request);
		one(database.store()).complete(request, new byte[] { 0, 'i', 'd', 'e', 'm', 0, 'T', 1 });
		JsonNode record = EndpointApp.json(app.get("/record" + EndpointApp.query(this.key)));
		assertThat(record.path("state").asString()).isEqualTo("COMPLETED");
		assertThat(record.path("outcomeUnreadable").booleanValue()).isTrue();
		assertThat(record.has("result")).isFalse();
	}

	@Test
	void valuesAreHiddenByDefault() {
		reader.failed(this.key);
		IdempotencyKey done = IdempotencyKey.of(this.key.scope(), "done");
		reader.completed(done);
		assertThat(Stream
			.of("/failed?limit=1000", "/record" + EndpointApp.query(this.key), "/record" + EndpointApp.query(done), "",
					"/stuck")
			.map((path) -> reader.get(path).body())).noneMatch((body) -> body.contains("card 4711"))
			.noneMatch((body) -> body.contains("charged"));
	}

	@Test
	void valuesAreShownWhenConfigured() {
		writer.failed(this.key);
		assertThat(entry(writer, "/failed").at("/error/message").asString()).isEqualTo(EndpointApp.FAILURE.message());
		IdempotencyKey done = IdempotencyKey.of(this.key.scope(), "done");
		writer.completed(done);
		assertThat(EndpointApp.json(writer.get("/record" + EndpointApp.query(done))).path("result").asString())
			.isEqualTo(EndpointApp.RESULT);
	}

	@ParameterizedTest
	@CsvSource({ "/record?scope=a&key=absent,404", "/record?scope=a,400", "/record?scope=a&key=%20,400", "/nothing,404",
			"/stuck?limit=0,400", "/failed?limit=1001,400", "/failed?limit=x,400", "/stuck?after=nowhere,400",
			"/stuck?after=%2B999999999-12-31T23:59:59Z_00000000-0000-0001-0000-000000000001,400",
			"/failed?scopes=a,400", "?store=none,400", "?store=%00,400", "/offsets?limit=10001,400",
			"reconciliation?limit=-1,400", "reconciliation/findings,404" })
	void impossibleReadIsRefusedWithAReason(String path, int status) {
		HttpResponse<String> response = reader.get(path);
		assertThat(response.statusCode()).isEqualTo(status);
		assertThat(EndpointApp.json(response).path("error").asString()).contains(" ");
	}

	@Test
	void listIsContinuedAfterAPage() {
		for (int i = 0; i < 3; i++) {
			reader.failed(IdempotencyKey.of(this.key.scope(), "key" + i));
		}
		JsonNode page = EndpointApp.json(reader.get("/failed?limit=1"));
		assertThat(page.path("records")).hasSize(1);
		assertThat(page.path("complete").booleanValue()).isFalse();
		String next = page.path("next").asString();
		assertThat(EndpointApp.json(reader.get("/failed?limit=1&after=" + next)).at("/records/0/key").asString())
			.isNotEqualTo(page.at("/records/0/key").asString());
	}

	@ParameterizedTest
	@ValueSource(strings = { "release", "evict", "evict-all" })
	void writeOperationsAreNotAllowedByDefault(String action) {
		reader.stuck(this.key);
		String row = database.row(this.key);
		assertThat(reader.post("/" + action, EndpointApp.body(this.key, "")).statusCode()).isEqualTo(405);
		assertThat(database.row(this.key)).isEqualTo(row);
	}

	@Test
	void stuckKeyIsReleased() {
		ClaimRequest zombie = writer.stuck(this.key);
		HttpResponse<String> response = writer.post("/release", EndpointApp.body(this.key, ""));
		assertThat(response.statusCode()).isEqualTo(200);
		assertThat(EndpointApp.json(response).path("outcome").asString()).isEqualTo("DONE");
		assertThat(one(writer.store()).complete(zombie, null)).isEqualTo(Settlement.LOST);
	}

	@ParameterizedTest
	@ValueSource(strings = { "release", "evict" })
	void liveClaimIsChangedByForceOnly(String action) {
		ClaimRequest owner = writer.claimed(this.key);
		HttpResponse<String> refused = writer.post("/" + action, EndpointApp.body(this.key, ",\"force\":false"));
		assertThat(refused.statusCode()).isEqualTo(409);
		assertThat(EndpointApp.json(refused).path("outcome").asString()).isEqualTo("ALIVE");
		assertThat(database.record(this.key).state()).isEqualTo(State.IN_PROGRESS);
		assertThat(writer.post("/" + action, EndpointApp.body(this.key, ",\"force\":true")).statusCode())
			.isEqualTo(200);
		assertThat(one(writer.store()).renew(owner))
			.isEqualTo(action.equals("release") ? Settlement.LOST : Settlement.FORGOTTEN);
	}

	@Test
	void completedKeyIsEvictedAndNotReleased() {
		writer.completed(this.key);
		assertThat(writer.post("/release", EndpointApp.body(this.key, "")).statusCode()).isEqualTo(409);
		assertThat(writer.post("/evict", EndpointApp.body(this.key, "")).statusCode()).isEqualTo(200);
		assertThat(one(writer.store()).find(this.key)).isEmpty();
		assertThat(writer.post("/evict", EndpointApp.body(this.key, "")).statusCode()).isEqualTo(404);
	}

	private JsonNode evictAll(String more) {
		HttpResponse<String> response = writer.post("/evict-all",
				"{\"scope\":\"" + this.key.scope() + "\"" + more + "}");
		assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
		return EndpointApp.json(response);
	}

	@Test
	void selectionIsCountedAndThenEvicted() {
		for (String value : new String[] { "order/1", "order/2", "refund/1" }) {
			writer.completed(IdempotencyKey.of(this.key.scope(), value));
		}
		String selection = ",\"keyPrefix\":\"order/\",\"createdFrom\":\"2026-01-01T00:00:00+01:00\",\"createdBefore\":"
				+ "\"2999-01-01T00:00:00Z\"";
		JsonNode counted = evictAll(selection + ",\"dryRun\":true");
		assertThat(counted.path("records").intValue()).isEqualTo(2);
		assertThat(counted.path("dryRun").booleanValue()).isTrue();
		assertThat(counted.path("keyPrefix").asString()).isEqualTo("order/");
		assertThat(counted.path("createdFrom").asString()).isEqualTo("2025-12-31T23:00:00Z");
		JsonNode first = evictAll(selection + ",\"dryRun\":false,\"limit\":1");
		assertThat(first.path("records").intValue()).isOne();
		assertThat(first.path("complete").booleanValue()).isFalse();
		JsonNode rest = evictAll(selection + ",\"dryRun\":false,\"after\":\"" + first.path("next").asString() + "\"");
		assertThat(rest.path("records").intValue()).isOne();
		assertThat(rest.path("complete").booleanValue()).isTrue();
		assertThat(evictAll(",\"all\":true,\"dryRun\":true").path("records").intValue()).isOne();
	}

	@Test
	void liveClaimIsEvictedWithItsScopeByForceOnly() {
		writer.claimed(this.key);
		assertThat(evictAll(",\"all\":true,\"dryRun\":false").path("records").intValue()).isZero();
		assertThat(evictAll(",\"all\":true,\"dryRun\":false,\"force\":true").path("records").intValue()).isOne();
		assertThat(one(writer.store()).find(this.key)).isEmpty();
	}

	@ParameterizedTest
	@CsvSource(delimiter = ' ', value = { "release {\"key\":\"a\"}", "evict {\"scope\":\"a\"}",
			"evict-all {\"scope\":\"a\"}", "evict-all {\"dryRun\":true}",
			"evict-all {\"scope\":\"a\",\"all\":true,\"key\":\"b\",\"dryRun\":true}",
			"evict-all {\"scope\":\"a\",\"dryRun\":false}",
			"evict-all {\"scope\":\"a\",\"keyPrefix\":\"\",\"dryRun\":false}",
			"evict-all {\"scope\":\"a\",\"all\":true,\"keyPrefix\":\"b\",\"dryRun\":false}",
			"evict {\"scope\":\"a\",\"key\":\"b\",\"dryRun\":true}",
			"evict-all {\"scope\":\"a\",\"all\":true,\"limit\":100001,\"dryRun\":true}",
			"evict-all {\"scope\":\"a\",\"all\":true,\"after\":\"b\",\"dryRun\":true}",
			"evict-all {\"scope\":\"a\",\"keyPrefix\":\"\\u0000\",\"dryRun\":true}",
			"evict-all {\"scope\":\"a\",\"keyprefix\":\"b\",\"dryRun\":false}", "release {\"force\":\"maybe\"}",
			"offsets/lower {\"scope\":\"a\"}",
			"offsets/lower {\"scope\":\"a\",\"topic\":\"b\",\"partition\":0,\"next\":-1}",
			"offsets/lower {\"scope\":\"\\u0000\",\"topic\":\"b\",\"partition\":0,\"next\":1}",
			"evict-all {\"scope\":\"a\",\"createdFrom\":\"2026-01-02T00:00:00Z\",\"createdBefore\":\"2026-01-01T00:00:00Z\",\"dryRun\":true}" })
	void incompleteRequestIsRefusedWithAReason(String action, String body) {
		HttpResponse<String> response = writer.post("/" + action, body);
		assertThat(response.statusCode()).isEqualTo(400);
		assertThat(EndpointApp.json(response).path("error").asString()).contains("'");
	}

	@ParameterizedTest
	@ValueSource(strings = { "{}", "{\"listener\":\"none\"}", "{\"listener\":\"none\",\"list\":\"x\"}",
			"{\"listener\":\"none\",\"timeout\":\"PT9000000000000000S\"}",
			"{\"listener\":\"none\",\"from\":\"+999999999-01-01T00:00:00Z\"}",
			"{\"listener\":\"none\",\"stuckafter\":\"1m\"}" })
	void impossibleReconciliationIsRefusedWithAReason(String body) {
		HttpResponse<String> response = writer.post("reconciliation", body);
		assertThat(response.statusCode()).isEqualTo(400);
		assertThat(EndpointApp.json(response).path("error").asString()).contains("'");
	}

	@ParameterizedTest
	@ValueSource(strings = { "delete", "offsets/raise" })
	void unknownActionIsNotFound(String action) {
		String body = action.equals("delete") ? EndpointApp.body(this.key, "") : lowered(1);
		assertThat(writer.post("/" + action, body).statusCode()).isEqualTo(404);
	}

	private void raise(long offset) {
		writer.mark(new OffsetMark(this.key.scope(), "topic", new UUID(1, 2), 3, offset));
	}

	private JsonNode mark() {
		HttpResponse<String> response = reader.get("/offsets?limit=10000");
		assertThat(response.statusCode()).isEqualTo(200);
		return EndpointApp.json(response)
			.path("marks")
			.valueStream()
			.filter((mark) -> mark.path("scope").asString().equals(this.key.scope()))
			.findFirst()
			.orElseThrow();
	}

	private String lowered(long next) {
		return "{\"scope\":\"" + this.key.scope() + "\",\"topic\":\"topic\",\"partition\":3,\"next\":" + next + "}";
	}

	@Test
	void marksAreListed() {
		raise(41);
		assertThat(mark().propertyNames()).containsExactlyInAnyOrder("scope", "topic", "topicId", "partition", "offset",
				"updatedAt");
		assertThat(mark().path("partition").asInt()).isEqualTo(3);
		assertThat(mark().path("offset").asLong()).isEqualTo(41);
	}

	@Test
	void markIsLoweredLoggedAndCounted() {
		raise(41);
		try (Logs logs = Logs.about(this.key.scope())) {
			assertThat(writer.post("/offsets/lower", lowered(50)).statusCode()).as("the mark is lower").isEqualTo(404);
			HttpResponse<String> response = writer.post("/offsets/lower", lowered(10));
			assertThat(response.statusCode()).isEqualTo(200);
			assertThat(EndpointApp.json(response).path("outcome").asString()).isEqualTo("DONE");
			assertThat(mark().path("offset").asLong()).isEqualTo(9);
			assertThat(logs.messages("WARN")).anyMatch((line) -> line.startsWith("Intervention: lower of the mark")
					&& line.contains("partition 3 of topic 'topic'") && line.contains("offset 10"));
		}
		assertThat(writes("lower", "done")).isPositive();
	}

	@Test
	void markIsNotLoweredByDefault() {
		raise(41);
		assertThat(reader.post("/offsets/lower", lowered(10)).statusCode()).isEqualTo(404);
		assertThat(mark().path("offset").asLong()).isEqualTo(41);
	}

	@Test
	void refusedReleaseIsCounted() {
		double before = writes("release", "refused");
		writer.claimed(this.key);
		writer.post("/release", EndpointApp.body(this.key, ""));
		assertThat(writes("release", "refused")).isEqualTo(before + 1);
	}

	private static double writes(String operation, String outcome) {
		Counter counter = writer.context()
			.getBean(MeterRegistry.class)
			.find("idempotency.endpoint.writes")
			.tags("operation", operation, "outcome", outcome)
			.counter();
		return (counter != null) ? counter.count() : 0;
	}

	@Test
	void releaseOfARecordThatATransactionHoldsIsAConflict() throws Exception {
		writer.stuck(this.key);
		try (Connection connection = database.pool().getConnection()) {
			connection.setAutoCommit(false);
			try (PreparedStatement lock = connection
				.prepareStatement("SELECT 1 FROM " + TestDatabase.TABLE + " WHERE id = ? FOR UPDATE")) {
				lock.setObject(1, this.key.id());
				lock.execute();
				HttpResponse<String> response = writer.post("/release", EndpointApp.body(this.key, ""));
				assertThat(response.statusCode()).isEqualTo(409);
				assertThat(EndpointApp.json(response).path("error").asString()).contains("holds the record");
			}
			connection.rollback();
		}
	}

}
