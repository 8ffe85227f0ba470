/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample;

import java.math.BigDecimal;
import java.time.Duration;
import java.util.Map;

import org.awaitility.Awaitility;
import org.springframework.core.ParameterizedTypeReference;
import org.springframework.web.client.RestClient;
import tools.jackson.databind.JsonNode;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A client of the running service that compares its figures with those at the start of a
 * test. Deliveries and suppressed ones are at least those that a test causes: after a
 * rebalance Kafka delivers again what was not committed.
 */
class PaymentService {

	private final RestClient http;

	private final JsonNode before;

	PaymentService(int port) {
		this.http = RestClient.create("http://localhost:" + port);
		// Events of an earlier test may still be on their way.
		this.before = awaitConsumption();
	}

	void crash() {
		this.http.post().uri("/api/crash").retrieve().toBodilessEntity();
	}

	JsonNode stores() {
		return this.http.get().uri("/api/stores").retrieve().body(JsonNode.class);
	}

	void order(int count, double duplicateRate) {
		this.http.post()
			.uri("/api/payments")
			.body(Map.of("count", count, "duplicateRate", duplicateRate))
			.retrieve()
			.toBodilessEntity();
	}

	JsonNode awaitConsumption() {
		Awaitility.await()
			.atMost(Duration.ofSeconds(60))
			.untilAsserted(() -> assertThat(backlog().values()).containsOnly(0L));
		return summary();
	}

	private Map<String, Long> backlog() {
		return this.http.get().uri("/api/backlog").retrieve().body(new ParameterizedTypeReference<>() {
		});
	}

	/**
	 * Compare the records of a listener with its store.
	 * @param listener the listener
	 * @return the report
	 */
	JsonNode reconcile(String listener) {
		String endpoint = "/actuator/idempotencyreconciliation";
		this.http.post().uri(endpoint).body(Map.of("listener", listener)).retrieve().toBodilessEntity();
		return Awaitility.await()
			.atMost(Duration.ofSeconds(60))
			.until(() -> this.http.get().uri(endpoint).retrieve().body(JsonNode.class).path("run"),
					(run) -> !run.path("state").asString().equals("RUNNING"));
	}

	JsonNode reconciliation() {
		return this.http.get().uri("/api/reconciliation").retrieve().body(JsonNode.class);
	}

	private JsonNode summary() {
		return this.http.get().uri("/api/summary").retrieve().body(JsonNode.class);
	}

	long increase(JsonNode after, String figure) {
		return after.at(figure).longValue() - this.before.at(figure).longValue();
	}

	BigDecimal increaseOfAmount(JsonNode after, String figure) {
		return after.at(figure).decimalValue().subtract(this.before.at(figure).decimalValue());
	}

}
