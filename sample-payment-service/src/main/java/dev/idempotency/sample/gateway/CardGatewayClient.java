/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.gateway;

import org.springframework.core.env.Environment;
import org.springframework.stereotype.Component;
import org.springframework.web.client.RestClient;

/**
 * Calls the card gateway over HTTP.
 */
@Component
class CardGatewayClient {

	private final RestClient http;

	private final Environment environment;

	CardGatewayClient(RestClient.Builder http, Environment environment) {
		this.http = http.build();
		this.environment = environment;
	}

	void charge(String idempotencyKey, ChargeRequest request) {
		// Read late, because the gateway is part of this service and its port is known
		// only after the start.
		String gateway = this.environment.getRequiredProperty("sample.gateway.url");
		this.http.post()
			.uri(gateway + "/gateway/charges")
			.header("Idempotency-Key", idempotencyKey)
			.body(request)
			.retrieve()
			.toBodilessEntity();
	}

}
