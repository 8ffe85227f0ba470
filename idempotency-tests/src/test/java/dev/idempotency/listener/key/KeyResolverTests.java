/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.key;

import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.util.ReflectionUtils;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.catchThrowable;

/**
 * Tests for {@link KeyResolver}.
 */
@Tag("promise-10")
class KeyResolverTests {

	private static final ListenerParameters PARAMETERS = ListenerParameters
		.of(ReflectionUtils.findMethod(KeyResolverTests.class, "listen", Map.class, ConsumerRecord.class));

	private final RecordHeaders headers = new RecordHeaders();

	private final List<String> names = List.of("first", "source+id", "last");

	@Test
	void firstPresentHeaderIsTheKey() {
		header("last", "c").header("first", "a");
		assertThat(resolve(null, Map.of())).isEqualTo("a");
	}

	@Test
	void headerWithPlusJoinsItsParts() {
		header("source", "/shop").header("id", "7").header("last", "c");
		assertThat(resolve(null, Map.of())).isEqualTo("/shop 7");
	}

	@Test
	void headerWithPlusNeedsAllItsParts() {
		header("source", "/shop").header("last", "c");
		assertThat(resolve(null, Map.of())).isEqualTo("c");
	}

	@ParameterizedTest
	@ValueSource(strings = { "source", "id" })
	void blankPartIsUnusable(String blank) {
		header("source".equals(blank) ? "id" : "source", "a").header(blank, " ");
		assertUnusable(null, Map.of(), "the header '" + blank + "' is blank");
	}

	@Test
	void differentPartsAreDifferentKeys() {
		header("source", "a").header("id", "b c");
		String key = resolve(null, Map.of());
		this.headers.remove("source").remove("id");
		header("source", "a b").header("id", "c");
		assertThat(resolve(null, Map.of())).isNotEqualTo(key);
	}

	@Test
	void recordWithoutKeyHeaderIsUnusable() {
		assertUnusable(null, Map.of(), "neither the expression nor a header has one");
	}

	@Test
	void blankHeaderIsUnusableDespiteAnotherHeader() {
		header("first", "  ").header("last", "c");
		assertUnusable(null, Map.of(), "the key is blank");
	}

	@Test
	void overLongHeaderIsUnusable() {
		header("first", "x".repeat(513));
		assertUnusable(null, Map.of(), "the key has 513 characters, more than 512");
	}

	@Test
	void longestHeaderIsUsable() {
		header("first", "x".repeat(512));
		assertThat(resolve(null, Map.of())).hasSize(512);
	}

	@Test
	void headerWithNulIsUnusable() {
		header("first", "a\0b");
		assertUnusable(null, Map.of(), "the key has a control character");
	}

	@Test
	void expressionComesBeforeHeaders() {
		header("first", "a");
		assertThat(resolve("#payload['id']", Map.of("id", "b"))).isEqualTo("b");
	}

	@Test
	void headerIsUsedWhenExpressionYieldsNull() {
		header("first", "a");
		assertThat(resolve("#payload['id']", Map.of())).isEqualTo("a");
	}

	@ParameterizedTest
	@ValueSource(strings = { "'order-' + #payload['id']", "#payload['id'] + '-order'", "'a' + ('b' + #payload['id'])",
			"'a' + #payload['id'] + 'b'" })
	void sumWithNullOperandHasNoKey(String expression) {
		assertUnusable(expression, Map.of(), "neither the expression nor a header has one");
	}

	@Test
	void sumIsTheKey() {
		assertThat(resolve("'order-' + #value['id'] + #headers['x']", Map.of("id", 7), "x", "y")).isEqualTo("order-7y");
	}

	@Test
	@Tag("promise-15")
	void partsOfASumAreJoinedAsText() {
		assertThat(resolve("#payload['tenant'] + #payload['order']", Map.of("tenant", 1, "order", 23L)))
			.isEqualTo("123");
		assertThat(resolve("#payload['tenant'] + 5 + ':' + (#payload['order'] + 7)", Map.of("tenant", 1, "order", 23)))
			.isEqualTo("15:237");
	}

	@Test
	void partThatIsAnObjectIsUnusable() {
		assertUnusable("'order-' + #payload", Map.of("id", "secret"), "which is not a text, number, date or UUID");
	}

	@Test
	void recordIsVisible() {
		assertThat(resolve("#record.topic() + #record.offset()", Map.of())).isEqualTo("topic2");
	}

	@Test
	void dateIsText() {
		assertThat(resolve("#payload['id']", Map.of("id", LocalDate.of(2026, 1, 2)))).isEqualTo("2026-01-02");
	}

	@Test
	void objectIsUnusable() {
		assertUnusable("#payload", Map.of("id", "secret"), "which is not a text, number, date or UUID");
	}

	@Test
	void missingPropertyIsUnusable() {
		header("first", "a");
		assertUnusable("#payload.id.name", Map.of("id", 7), "the expression '#payload.id.name' failed");
	}

	@ParameterizedTest
	@ValueSource(strings = { "#payload['id'].substring(9)", "T(java.util.UUID).fromString(#payload['id'])",
			"T(java.time.LocalDate).parse(#payload['id'])", "new java.math.BigDecimal(#payload['id'])" })
	void methodThatThrowsIsUnusable(String expression) {
		assertUnusable(expression, Map.of("id", "secret"), "the expression '" + expression + "' failed");
	}

	@Test
	void malformedHeaderIsNoKeyOfAnExpression() {
		this.headers.add("raw", new byte[] { 'c', 'a', 'f', (byte) 0xE9 });
		assertUnusable("#headers['raw']", Map.of(), "neither the expression nor a header has one");
	}

	@Test
	void headerIsVisibleAsText() {
		assertThat(resolve("#headers['raw']", Map.of(), "raw", "caf\u00E9")).isEqualTo("caf\u00E9");
	}

	@Test
	void reasonDoesNotQuoteThePayload() {
		Throwable failure = catchThrowable(
				() -> resolve("T(java.util.UUID).fromString(#payload['id'])", Map.of("id", "secret")));
		assertThat(failure).isInstanceOf(UnusableKeyException.class);
		for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
			assertThat(cause.toString()).doesNotContain("secret");
		}
	}

	private void assertUnusable(String expression, Map<String, Object> payload, String reason) {
		assertThatExceptionOfType(UnusableKeyException.class).isThrownBy(() -> resolve(expression, payload))
			.withMessageContaining(reason)
			.withMessageNotContaining("secret");
	}

	private String resolve(String expression, Map<String, Object> payload, String... header) {
		for (int i = 0; i < header.length; i += 2) {
			header(header[i], header[i + 1]);
		}
		ConsumerRecord<String, Object> record = new ConsumerRecord<>("topic", 1, 2, 3, TimestampType.CREATE_TIME, 0, 0,
				null, payload, this.headers, Optional.empty());
		RecordExpression parsed = (expression != null)
				? RecordExpression.parse(expression, "key", "X.listen", PARAMETERS) : null;
		return KeyResolver.of(parsed, this.names)
			.resolve(new RecordContext(PARAMETERS, record, new Object[] { payload, record }, -1), this.headers);
	}

	private KeyResolverTests header(String name, String value) {
		this.headers.add(name, value.getBytes(StandardCharsets.UTF_8));
		return this;
	}

	static void listen(Map<String, Object> value, ConsumerRecord<String, Object> raw) {
	}

}
