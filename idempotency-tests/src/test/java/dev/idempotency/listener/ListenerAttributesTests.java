/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.testsupport.Contexts;
import dev.idempotency.testsupport.Logs;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@code ListenerSettingsFactory}: a listener with a wrong attribute does not
 * start.
 */
@Tag("promise-12")
class ListenerAttributesTests {

	private static final String NAME = "ListenerAttributesTests.Listener.listen";

	@ParameterizedTest
	@CsvSource(delimiter = '|', quoteCharacter = '"',
			textBlock = """
					lease=999ms                       | The lease of the idempotent listener LISTENER is 999ms ('lease' of @Idempotent), shorter than 1s. | Set it to 1s or more.
					lease=30                          | The lease of the idempotent listener LISTENER is 30ms ('lease' of @Idempotent), shorter than 1s. | A number without a unit is milliseconds: write '30s' for 30 seconds.
					lease=8d                          | The lease of the idempotent listener LISTENER is 8d ('lease' of @Idempotent), not shorter than its retention of 7d ('idempotency.retention'). | Set the lease to less than the retention. Seconds to minutes are usual: a running handler renews it.
					lease=soon                        | The lease 'soon' of @Idempotent on LISTENER | Write it like '30s', '5m' or '7d'.
					retention=30s                     | The retention of the idempotent listener LISTENER is 30s ('retention' of @Idempotent), not longer than its lease of 30s ('idempotency.lease'). | Set the retention to more than the lease, and to more than the topic keeps its records.
					retention=a week                  | The retention 'a week' of @Idempotent on LISTENER | Write it like
					key=#order + #value               | uses unknown variables: [order]. | Use #record, #payload, #headers or a parameter [value]
					condition={1}.![#item] != null    | uses unknown variables: [item]. | Use #record
					fingerprint=#payload +            | The fingerprint expression '#payload +' of @Idempotent on LISTENER cannot be parsed | Correct the expression.
					""")
	void wrongAttributeIsRefused(String attribute, String description, String action) {
		assertRefused(ListenerStart.refusal(Listener.class, attribute), description, action);
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', quoteCharacter = '"',
			textBlock = """
					idempotency.lease=30    | LISTENER is 30ms ('idempotency.lease'), shorter than 1s. | write '30s' for 30 seconds.
					idempotency.retention=7 | LISTENER is 7ms ('idempotency.retention'), not longer than its lease of 30s \
					('idempotency.lease'). | A number without a unit is milliseconds: write '7d' for 7 days.
					""")
	void wrongPropertyIsRefused(String property, String description, String action) {
		assertRefused(
				Contexts.failure(Contexts.all().withPropertyValues(property).withUserConfiguration(Listener.class)),
				description, action);
	}

	@ParameterizedTest
	@ValueSource(strings = { "key", "fingerprint", "condition" })
	@Tag("promise-15")
	void propertyThatThePayloadDoesNotHaveIsRefused(String attribute) {
		assertRefused(ListenerStart.refusal(Listener.class, attribute + "=#payload.paymentIdd"),
				"The " + attribute + " expression '#payload.paymentIdd' of @Idempotent on LISTENER names the property "
						+ "'paymentIdd', which java.lang.String does not have.",
				"Correct the expression");
	}

	@Test
	void overLongScopeIsRefused() {
		assertRefused(ListenerStart.refusal(Listener.class, "scope=" + "s".repeat(513)),
				"has 513 characters, more than 512", "Set 'scope' of @Idempotent");
	}

	@Test
	@Tag("promise-15")
	void sumWithoutSeparatorCausesAWarning() {
		try (Logs logs = new Logs()) {
			ListenerStart.start(Listener.class, "key=#payload + #value");
			assertThat(logs.messages("WARN")).filteredOn((message) -> message.contains(NAME))
				.singleElement()
				.asString()
				.contains("joins parts without a separator");
		}
	}

	@Test
	void placeholdersInAttributesAreResolved() {
		try (Logs logs = new Logs()) {
			ListenerStart.start(Listener.class, "scope=billing", "lease=1s", "retention=3d", "key=#payload");
			assertThat(logs.messages("INFO")).filteredOn((message) -> message.contains("scope 'billing'"))
				.singleElement()
				.asString()
				.contains("retention 3d");
		}
	}

	private static void assertRefused(FailureAnalysis analysis, String description, String action) {
		assertThat(analysis.getDescription()).contains(description.replace("LISTENER", NAME));
		assertThat(analysis.getAction()).contains(action);
	}

	static class Listener {

		@Idempotent(key = "${key:}", scope = "${scope:}", lease = "${lease:}", retention = "${retention:}",
				fingerprint = "${fingerprint:}", condition = "${condition:}")
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

}
