/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jackson;

import java.lang.reflect.Type;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;

import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.core.ParameterizedTypeReference;
import tools.jackson.databind.DefaultTyping;
import tools.jackson.databind.MapperFeature;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.jsontype.BasicPolymorphicTypeValidator;
import tools.jackson.databind.node.ObjectNode;

import dev.idempotency.template.ResultCodec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Tests for {@link JacksonSerialization}.
 */
class JacksonSerializationTests {

	private static final Receipt RECEIPT = new Receipt("r-1", 25, Instant.parse("2025-01-02T03:04:05Z"));

	private final JsonMapper mapper = JsonMapper.builder().build();

	private final JacksonSerialization serialization = new JacksonSerialization(this.mapper);

	private Object roundTrip(Type type, Object value) {
		ResultCodec<Object> codec = this.serialization.codec(type);
		return codec.read(codec.write(value));
	}

	private String canonical(Object value) {
		return new String(this.serialization.canonical(value), StandardCharsets.UTF_8);
	}

	@Test
	@Tag("promise-8")
	void recordIsDeserializedAsItWasSerialized() {
		assertThat(roundTrip(Receipt.class, RECEIPT)).isEqualTo(RECEIPT);
	}

	@Test
	@Tag("promise-8")
	void elementsOfAListHaveTheirType() {
		Type type = new ParameterizedTypeReference<List<Receipt>>() {
		}.getType();
		assertThat(roundTrip(type, List.of(RECEIPT))).isEqualTo(List.of(RECEIPT));
	}

	@Test
	@Tag("promise-8")
	void valuesOfAMapHaveTheirType() {
		Type type = new ParameterizedTypeReference<Map<String, List<Receipt>>>() {
		}.getType();
		Map<String, List<Receipt>> value = Map.of("a", List.of(RECEIPT));
		assertThat(roundTrip(type, value)).isEqualTo(value);
	}

	@Test
	void nullResultIsNotStored() {
		assertThat(this.serialization.codec(Receipt.class).write(null)).isNull();
	}

	@Test
	@Tag("promise-8")
	void emptyTextIsStored() {
		assertThat(roundTrip(String.class, "")).isEqualTo("");
	}

	@Test
	@Tag("promise-10")
	void storedBytesDoNotChooseTheClass() {
		int before = Gadget.CREATED.get();
		JsonMapper typed = this.mapper.rebuild()
			.activateDefaultTyping(BasicPolymorphicTypeValidator.builder().allowIfBaseType(Object.class).build(),
					DefaultTyping.NON_FINAL)
			.build();
		byte[] bytes = ("[\"" + Gadget.class.getName() + "\",{}]").getBytes(StandardCharsets.UTF_8);
		Object read = new JacksonSerialization(typed).codec(Object.class).read(bytes);
		assertThat(read).isInstanceOf(List.class);
		assertThat(Gadget.CREATED).hasValue(before);
		assertThat(typed.readValue(bytes, Object.class)).isInstanceOf(Gadget.class);
	}

	@ParameterizedTest
	@ValueSource(classes = { Answer.class, Unfinished.class, Unconstructible.class, Inner.class })
	@Tag("promise-8")
	@Tag("promise-12")
	void resultTypeThatCannotBeDeserializedIsRefused(Class<?> type) {
		assertThatIllegalArgumentException().isThrownBy(() -> this.serialization.codec(type))
			.withMessageContaining("Cannot construct instance")
			.withMessageContaining(type.getSimpleName());
	}

	@ParameterizedTest
	@ValueSource(classes = { Object.class, String.class, Receipt.class, List.class, Map.class, Number.class,
			ObjectNode.class, Described.class, Demanding.class, byte[].class, Long.class, Thread.State.class })
	@Tag("promise-8")
	void resultTypeThatCanBeDeserializedIsAccepted(Class<?> type) {
		assertThat(this.serialization.codec(type)).isNotNull();
	}

	@Test
	@Tag("promise-9")
	void canonicalFormIgnoresTheOrderOfMapEntries() {
		assertThat(canonical(ordered("a", "b", "c"))).isEqualTo(canonical(ordered("c", "a", "b")));
	}

	@Test
	@Tag("promise-9")
	void canonicalFormIgnoresTheOrderOfNestedMapEntries() {
		assertThat(canonical(List.of(Map.of("x", ordered("a", "b")))))
			.isEqualTo(canonical(List.of(Map.of("x", ordered("b", "a")))));
	}

	@Test
	@Tag("promise-9")
	void canonicalFormIgnoresTheOrderOfTreeProperties() {
		ObjectNode first = this.mapper.createObjectNode().put("a", 1).put("b", 2);
		ObjectNode second = this.mapper.createObjectNode().put("b", 2).put("a", 1);
		assertThat(canonical(first)).isEqualTo(canonical(second));
	}

	@Test
	@Tag("promise-9")
	void canonicalFormIgnoresTheOrderOfProperties() {
		JsonMapper declared = this.mapper.rebuild().disable(MapperFeature.SORT_PROPERTIES_ALPHABETICALLY).build();
		JacksonSerialization canonicalizing = new JacksonSerialization(declared);
		assertThat(declared.writeValueAsString(new First(1, 2)))
			.isNotEqualTo(declared.writeValueAsString(new Second(2, 1)));
		assertThat(canonicalizing.canonical(new First(1, 2))).isEqualTo(canonicalizing.canonical(new Second(2, 1)));
	}

	@Test
	@Tag("promise-9")
	void canonicalFormIgnoresIndentation() {
		JsonMapper indenting = this.mapper.rebuild().enable(SerializationFeature.INDENT_OUTPUT).build();
		assertThat(new JacksonSerialization(indenting).canonical(RECEIPT))
			.isEqualTo(this.serialization.canonical(RECEIPT));
	}

	@Test
	@Tag("promise-9")
	void otherContentHasAnotherCanonicalForm() {
		assertThat(canonical(ordered("a", "b"))).isNotEqualTo(canonical(ordered("a", "c")));
	}

	private static Map<String, String> ordered(String... keys) {
		Map<String, String> map = new LinkedHashMap<>();
		for (String key : keys) {
			map.put(key, "value of " + key);
		}
		return map;
	}

	record Receipt(String id, long amount, Instant at) {

	}

	interface Answer {

		String text();

	}

	@JsonTypeInfo(use = JsonTypeInfo.Id.NAME)
	@JsonSubTypes(@JsonSubTypes.Type(Yes.class))
	interface Described {

	}

	record Yes(String text) implements Described {

	}

	abstract static class Unfinished {

		public String text = "";

	}

	class Inner {

		public String text = "";

	}

	record Demanding(String text) {

		Demanding {
			Objects.requireNonNull(text);
		}

	}

	static final class Unconstructible {

		final String text;

		Unconstructible(String first, String second) {
			this.text = first + second;
		}

	}

	record First(int a, int b) {

	}

	record Second(int b, int a) {

	}

	static final class Gadget {

		static final AtomicInteger CREATED = new AtomicInteger();

		Gadget() {
			CREATED.incrementAndGet();
		}

	}

}
