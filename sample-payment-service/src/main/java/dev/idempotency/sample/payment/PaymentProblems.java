/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.payment;

import java.util.concurrent.CompletionException;

import org.apache.kafka.common.KafkaException;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.http.converter.HttpMessageNotReadableException;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;

/**
 * Describes the problem of an order that is invalid or could not be sent.
 */
@RestControllerAdvice(assignableTypes = PaymentController.class)
class PaymentProblems {

	@ExceptionHandler
	ProblemDetail unreadable(HttpMessageNotReadableException ex) {
		Throwable cause = ex.getMostSpecificCause();
		return ProblemDetail.forStatusAndDetail(HttpStatus.BAD_REQUEST, (cause instanceof IllegalArgumentException)
				? cause.getMessage() : "The body must be JSON, for example {\"count\":1000,\"duplicateRate\":0.3}");
	}

	@ExceptionHandler({ CompletionException.class, KafkaException.class,
			org.springframework.kafka.KafkaException.class })
	ProblemDetail unsent() {
		return ProblemDetail.forStatusAndDetail(HttpStatus.SERVICE_UNAVAILABLE,
				"Kafka did not acknowledge all messages. The payments are stored, and the next start of the "
						+ "service sends them.");
	}

}
