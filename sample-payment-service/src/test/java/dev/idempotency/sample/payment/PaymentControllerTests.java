/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.payment;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.mockito.BDDMockito;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.kafka.KafkaException;
import org.springframework.test.web.servlet.assertj.MockMvcTester;
import org.springframework.test.web.servlet.assertj.MvcTestResult;
import org.springframework.test.web.servlet.setup.MockMvcBuilders;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.BDDMockito.then;
import static org.mockito.BDDMockito.willThrow;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link PaymentController} and {@link PaymentProblems}.
 */
class PaymentControllerTests {

	private final PaymentRepository payments = mock();

	private final PaymentSender sender = mock();

	private final MockMvcTester mvc = MockMvcTester
		.create(MockMvcBuilders.standaloneSetup(new PaymentController(this.payments, this.sender))
			.setControllerAdvice(new PaymentProblems())
			.build());

	@ParameterizedTest
	@CsvSource(delimiter = '|', textBlock = """
			{"count":0,"duplicateRate":0.3}      | 'count' must be between 1 and 100000, but is 0
			{"count":100001,"duplicateRate":0.3} | 'count' must be between 1 and 100000, but is 100001
			{"count":1,"duplicateRate":-0.1}     | 'duplicateRate' must be between 0 and 1, but is -0.1
			{"count":1,"duplicateRate":1.1}      | 'duplicateRate' must be between 0 and 1, but is 1.1
			{"count":"many"}                     | The body must be JSON, for example {"count":1000,"duplicateRate":0.3}
			count=5                              | The body must be JSON, for example {"count":1000,"duplicateRate":0.3}
			""", quoteCharacter = '`')
	void invalidOrderIsRejectedWithTheReason(String body, String reason) {
		assertThat(order(body)).hasStatus(HttpStatus.BAD_REQUEST)
			.bodyJson()
			.extractingPath("$.detail")
			.isEqualTo(reason);
		then(this.payments).shouldHaveNoInteractions();
	}

	@Test
	void orderIsStoredBeforeItIsSent() {
		assertThat(order("{\"count\":3,\"duplicateRate\":1}")).hasStatusOk();
		var inOrder = BDDMockito.inOrder(this.payments, this.sender);
		then(this.payments).should(inOrder).insert(any());
		then(this.sender).should(inOrder).send(any());
	}

	@Test
	void orderThatKafkaDoesNotAcknowledgeIsReportedAsStored() {
		willThrow(new KafkaException("no broker")).given(this.sender).send(any());
		assertThat(order("{\"count\":3,\"duplicateRate\":1}")).hasStatus(HttpStatus.SERVICE_UNAVAILABLE)
			.bodyJson()
			.extractingPath("$.detail")
			.asString()
			.contains("the next start of the service sends them");
	}

	private MvcTestResult order(String body) {
		return this.mvc.post().uri("/api/payments").contentType(MediaType.APPLICATION_JSON).content(body).exchange();
	}

}
