/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.docs;

import java.util.Map;

import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;

import dev.idempotency.IdempotencyKeyMissingException;
import dev.idempotency.IdempotencyKeyReusedException;
import dev.idempotency.IdempotencyRecordUnreadableException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.IdempotencyVersionStaleException;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.OperationLostException;
import dev.idempotency.OperationRejectedException;

@RestControllerAdvice
class IdempotencyProblems {

	// The reasons of this application and their statuses.
	private static final Map<String, HttpStatus> DECLINED = Map.of("account closed", HttpStatus.GONE, "balance too low",
			HttpStatus.PAYMENT_REQUIRED);

	@ExceptionHandler({ OperationInProgressException.class, OperationLostException.class })
	ResponseEntity<ProblemDetail> inProgress(OperationBlockedException ex) {
		return retry(HttpStatus.CONFLICT, "The first request with this key is being processed.", ex);
	}

	@ExceptionHandler
	ResponseEntity<ProblemDetail> storeUnavailable(IdempotencyStoreUnavailableException ex) {
		return retry(HttpStatus.SERVICE_UNAVAILABLE, "The request cannot be processed at the moment.", ex);
	}

	@ExceptionHandler
	ResponseEntity<ProblemDetail> blocked(OperationBlockedException ex) {
		return retry(HttpStatus.INTERNAL_SERVER_ERROR, "An operator has to solve a problem first.", ex);
	}

	@ExceptionHandler
	ProblemDetail unreadable(IdempotencyRecordUnreadableException ex) {
		return problem(HttpStatus.INTERNAL_SERVER_ERROR, "It is unknown whether the request has been processed.");
	}

	@ExceptionHandler
	ProblemDetail missing(IdempotencyKeyMissingException ex) {
		return problem(HttpStatus.BAD_REQUEST,
				"The header Idempotency-Key is missing or unusable. Send up to 512 characters that identify this request.");
	}

	@ExceptionHandler
	ProblemDetail reused(IdempotencyKeyReusedException ex) {
		return problem(HttpStatus.UNPROCESSABLE_CONTENT, "This key was used for another request.");
	}

	@ExceptionHandler
	ProblemDetail stale(IdempotencyVersionStaleException ex) {
		return problem(HttpStatus.CONFLICT, "A newer version has been processed.");
	}

	@ExceptionHandler
	ProblemDetail rejected(OperationRejectedException ex) {
		return problem(HttpStatus.INTERNAL_SERVER_ERROR, "The request cannot be processed, or its response is lost.");
	}

	@ExceptionHandler
	ProblemDetail declined(OperationDeclinedException ex) {
		return problem(DECLINED.getOrDefault(ex.reason(), HttpStatus.CONFLICT), ex.reason());
	}

	// A retry with the same key is safe: it is processed, or gets the first response.
	private static ResponseEntity<ProblemDetail> retry(HttpStatus status, String detail, OperationBlockedException ex) {
		long seconds = Math.max(1, ex.retryAfter().toSeconds());
		return ResponseEntity.status(status)
			.header(HttpHeaders.RETRY_AFTER, String.valueOf(seconds))
			.body(problem(status, detail));
	}

	private static ProblemDetail problem(HttpStatus status, String detail) {
		return ProblemDetail.forStatusAndDetail(status, detail);
	}

}
