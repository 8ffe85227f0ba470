/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.docs;

import java.security.Principal;
import java.util.Objects;

import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RestController;

import dev.idempotency.OperationDeclinedException;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.IdempotentResult;

@RestController
class TransferController {

	private final IdempotencyTemplate template;

	private final JdbcTemplate jdbc;

	TransferController(IdempotencyTemplate template, JdbcTemplate jdbc) {
		this.template = template;
		this.jdbc = jdbc;
	}

	@PostMapping("/transfers")
	ResponseEntity<Receipt> transfer(@RequestHeader(name = "Idempotency-Key", defaultValue = "") String header,
			@RequestBody Transfer transfer, @Nullable Principal client) {
		// Clients that follow the IETF draft send the key in quotation marks.
		IdempotentResult<Receipt> result = this.template.operation("transfers", header.replaceAll("^\"(.*)\"$", "$1"))
			.scope("transfers/" + ((client != null) ? client.getName() : "anonymous"))
			.content(transfer)
			.execute(Receipt.class, () -> book(transfer));
		return ResponseEntity.status(HttpStatus.CREATED)
			.header("Idempotent-Replayed", String.valueOf(result.duplicate()))
			.body(result.result());
	}

	private Receipt book(Transfer transfer) {
		int changed = this.jdbc.update("UPDATE account SET balance = balance - ? WHERE id = ? AND balance >= ?",
				transfer.amount(), transfer.from(), transfer.amount());
		if (changed == 0) {
			throw new OperationDeclinedException("balance too low");
		}
		this.jdbc.update("UPDATE account SET balance = balance + ? WHERE id = ?", transfer.amount(), transfer.to());
		Long number = this.jdbc.queryForObject("SELECT nextval('receipt_number')", Long.class);
		return new Receipt(Objects.requireNonNull(number), transfer.amount());
	}

	record Transfer(String from, String to, int amount) {
	}

	record Receipt(long number, int amount) {
	}

}
