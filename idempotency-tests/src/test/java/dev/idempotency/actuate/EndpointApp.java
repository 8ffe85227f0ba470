/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.actuate;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.UUID;

import org.apache.kafka.common.errors.RecordTooLargeException;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.jdbc.JdbcIdempotencyStore;
import dev.idempotency.outbox.OutboxMessage;
import dev.idempotency.outbox.OutboxRow;
import dev.idempotency.outbox.OutboxStore;
import dev.idempotency.outbox.OutboxStore.RelayFailure;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.OffsetMark;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.testsupport.TestApp;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;

/**
 * An application whose endpoints are called over HTTP.
 */
final class EndpointApp implements AutoCloseable {

	static final String PATH = "/actuator/idempotency";

	static final String RESULT = "{\"charged\":10}";

	static final Failure FAILURE = new Failure("com.example.CardDeclined", "card 4711 of John Doe");

	private final ConfigurableApplicationContext context;

	private final HttpClient http = HttpClient.newHttpClient();

	private final TestDatabase database;

	private EndpointApp(ConfigurableApplicationContext context, TestDatabase database) {
		this.context = context;
		this.database = database;
	}

	/**
	 * Start an application.
	 * @param database the database of its records
	 * @param properties the properties of the endpoint
	 * @return the application
	 */
	static EndpointApp start(TestDatabase database, String... properties) {
		return start(database, TestApp.of(), properties);
	}

	/**
	 * Start an application with an outbox and without a relay. The path of its endpoint
	 * begins with {@code outbox}.
	 * @param database the database of its records
	 * @param properties the properties of both endpoints
	 * @return the application
	 */
	static EndpointApp withOutbox(TestDatabase database, String... properties) {
		return withOutbox(database, TestApp.of(), properties);
	}

	/**
	 * Start an application with an outbox and without a relay.
	 * @param database the database of its records
	 * @param app the application
	 * @param properties the properties of the endpoints
	 * @return the application
	 */
	static EndpointApp withOutbox(TestDatabase database, TestApp app, String... properties) {
		app.with("idempotency.outbox.enabled", true).with("idempotency.outbox.relay", "none");
		return start(database, app, properties);
	}

	private static EndpointApp start(TestDatabase database, TestApp app, String... properties) {
		app.web().database(database.url()).with("management.endpoints.web.exposure.include", "*");
		for (String property : properties) {
			String[] parts = property.split("=");
			app.with("management.endpoint.idempotency." + parts[0], parts[1]);
			app.with("management.endpoint.idempotencyoutbox." + parts[0], parts[1]);
			app.with("management.endpoint.idempotencyreconciliation." + parts[0], parts[1]);
		}
		return new EndpointApp(app.run(), database);
	}

	JdbcIdempotencyStore store() {
		return this.database.store();
	}

	IdempotencyTemplate template() {
		return this.context.getBean(IdempotencyTemplate.class);
	}

	ConfigurableApplicationContext context() {
		return this.context;
	}

	HttpResponse<String> get(String path) {
		return send(request(path));
	}

	HttpResponse<String> post(String path, String json) {
		return send(request(path).header("Content-Type", "application/json").POST(BodyPublishers.ofString(json)));
	}

	private HttpRequest.Builder request(String path) {
		return HttpRequest.newBuilder(URI.create(
				"http://localhost:" + this.context.getEnvironment().getProperty("local.server.port") + PATH + path));
	}

	private HttpResponse<String> send(HttpRequest.Builder request) {
		try {
			return this.http.send(request.build(), BodyHandlers.ofString());
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

	static JsonNode json(HttpResponse<String> response) {
		return JsonMapper.shared().readTree(response.body());
	}

	static String query(IdempotencyKey key) {
		return "?scope=" + URLEncoder.encode(key.scope(), StandardCharsets.UTF_8) + "&key="
				+ URLEncoder.encode(key.value(), StandardCharsets.UTF_8);
	}

	static String body(IdempotencyKey key, String more) {
		return "{\"scope\":\"" + key.scope() + "\",\"key\":\"" + key.value() + "\"" + more + "}";
	}

	ClaimRequest claimed(IdempotencyKey key) {
		ClaimRequest request = TestDatabase.request(key);
		one(store()).claim(request);
		return request;
	}

	ClaimRequest stuck(IdempotencyKey key) {
		ClaimRequest request = claimed(key);
		this.database.endLease(key);
		return request;
	}

	void failed(IdempotencyKey key) {
		one(store()).fail(claimed(key), FAILURE);
	}

	void completed(IdempotencyKey key, long version) {
		ClaimRequest any = TestDatabase.request(key);
		ClaimRequest request = new ClaimRequest(key, any.token(), null, any.lease(), any.retention(), version);
		one(store()).claim(request);
		one(store()).complete(request, null);
	}

	void completed(IdempotencyKey key) {
		one(store()).complete(claimed(key), RESULT.getBytes(StandardCharsets.UTF_8));
	}

	void mark(OffsetMark mark) {
		new TransactionTemplate(new JdbcTransactionManager(this.database.pool()))
			.executeWithoutResult((status) -> store().offsetMarks().orElseThrow().raise(List.of(mark), false).get(0));
	}

	void send(UUID id) {
		OutboxRow row = new OutboxRow(id, "payments", id.toString().getBytes(StandardCharsets.UTF_8),
				RESULT.getBytes(StandardCharsets.UTF_8),
				List.of(new OutboxMessage.Header("card", new byte[] { '4', '7' })), "order-42", "payment", "42",
				"PaymentCharged");
		new TransactionTemplate(this.context.getBean(PlatformTransactionManager.class))
			.executeWithoutResult((status) -> outbox().insert(List.of(row)));
	}

	void deadLetter(UUID id) {
		send(id);
		try (OutboxStore.Claim claim = outbox().claim(1000, Set.of())) {
			claim.settle(List.of(),
					claim.rows()
						.stream()
						.filter((claimed) -> claimed.row().id().equals(id))
						.map((claimed) -> new RelayFailure(claimed, 10, new RecordTooLargeException("card 4711"), null))
						.toList());
		}
	}

	OutboxStore outbox() {
		return this.context.getBean(OutboxStore.class);
	}

	@Override
	public void close() {
		this.context.close();
	}

}
