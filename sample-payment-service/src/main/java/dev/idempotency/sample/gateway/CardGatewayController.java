/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.gateway;

import org.springframework.dao.DuplicateKeyException;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RestController;

/**
 * The card gateway, which records every call and charges once per key.
 */
@RestController
class CardGatewayController {

	private static final String CALL = """
			insert into gateway_call (idempotency_key) values (:key)
			""";

	private static final String CHARGE = """
			insert into gateway_charge (idempotency_key, account, amount)
			values (:key, :account, :amount)
			""";

	private final JdbcClient jdbc;

	CardGatewayController(JdbcClient jdbc) {
		this.jdbc = jdbc;
	}

	@PostMapping("/gateway/charges")
	ResponseEntity<Void> charge(@RequestHeader("Idempotency-Key") String key, @RequestBody ChargeRequest request) {
		this.jdbc.sql(CALL).param("key", key).update();
		try {
			this.jdbc.sql(CHARGE)
				.param("key", key)
				.param("account", request.account())
				.param("amount", request.amount())
				.update();
			return ResponseEntity.status(HttpStatus.CREATED).build();
		}
		catch (DuplicateKeyException ex) {
			return ResponseEntity.ok().build();
		}
	}

}
