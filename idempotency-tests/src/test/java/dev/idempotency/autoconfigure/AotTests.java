/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.aot.generate.ClassNameGenerator;
import org.springframework.aot.generate.DefaultGenerationContext;
import org.springframework.aot.generate.InMemoryGeneratedFiles;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;
import org.springframework.beans.factory.aot.AotServices;
import org.springframework.context.aot.ApplicationContextAotGenerator;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.javapoet.ClassName;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.testsupport.Library;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link IdempotencyRuntimeHints}.
 */
@Isolated("Spring keeps classes that it generates during the test for the whole JVM")
class AotTests {

	private static final Pattern LOOK_UP = Pattern
		.compile("ReflectionUtils\\s*\\.find(?:Method|Field)\\([^\";]*\"(\\w+)\"");

	private final RuntimeHints hints = new RuntimeHints();

	AotTests() {
		AotServices.factories()
			.load(RuntimeHintsRegistrar.class)
			.asList()
			.stream()
			.filter((registrar) -> registrar.getClass().getName().startsWith("dev.idempotency."))
			.forEach((registrar) -> registrar.registerHints(this.hints, getClass().getClassLoader()));
	}

	@ParameterizedTest
	@ValueSource(strings = { "postgresql/V1__idempotency_record.sql", "h2/V1__idempotency_record.sql",
			"liquibase/records.yaml" })
	void hintsContainTheMigrations(String name) {
		String script = "dev/idempotency/jdbc/" + name;
		assertThat(getClass().getClassLoader().getResource(script)).isNotNull();
		assertThat(RuntimeHintsPredicates.resource().forResource(script)).accepts(this.hints);
	}

	@ParameterizedTest
	@CsvSource("org.springframework.orm.jpa.JpaTransactionManager, getDataSource")
	void hintsContainMethodsThatAreCalledByName(Class<?> type, String name) {
		assertThat(type.getDeclaredMethods()).filteredOn((method) -> method.getName().equals(name))
			.isNotEmpty()
			.allSatisfy((method) -> assertThat(RuntimeHintsPredicates.reflection().onMethodInvocation(method))
				.accepts(this.hints));
	}

	@ParameterizedTest
	@ValueSource(strings = { "dev.idempotency.listener.delivery.PolledRecordsInterceptor",
			"dev.idempotency.producer.IdempotencyKeyInterceptor" })
	void hintsContainTheConstructorsThatKafkaCalls(Class<?> type) throws NoSuchMethodException {
		assertThat(RuntimeHintsPredicates.reflection().onConstructorInvocation(type.getConstructor()))
			.accepts(this.hints);
	}

	@Test
	void testsCoverEveryNameThatTheSourcesLookUp() throws IOException {
		Set<String> names = new TreeSet<>();
		try (Stream<Path> sources = Files.walk(Library.SOURCES)) {
			for (Path source : sources.filter((file) -> file.toString().endsWith(".java")).toList()) {
				LOOK_UP.matcher(Files.readString(source)).results().forEach((look) -> names.add(look.group(1)));
			}
		}
		// RepairTests covers the members that the repairs of Spring Kafka name.
		assertThat(names).containsExactly("filterBatch", "getDataSource", "getStatus");
	}

	// Spring Kafka registers the parameter and return types of listeners.
	@ParameterizedTest
	@MethodSource
	void hintsContainTheTypesOfListeners(Class<?> type) {
		DefaultGenerationContext generation = new DefaultGenerationContext(
				new ClassNameGenerator(ClassName.get(AotTests.class)), new InMemoryGeneratedFiles());
		GenericApplicationContext context = new GenericApplicationContext();
		context.registerBean(Listener.class);
		new ApplicationContextAotGenerator().processAheadOfTime(context, generation);
		assertThat(RuntimeHintsPredicates.reflection().onType(type)).accepts(generation.getRuntimeHints());
	}

	static Stream<Class<?>> hintsContainTheTypesOfListeners() {
		return Stream.of(Command.class, Receipt.class, Line.class);
	}

	static class Listener {

		@Idempotent(fingerprint = "#payload.amount")
		@KafkaListener(topics = "payments", groupId = "ledger")
		Receipt charge(Command command) {
			return new Receipt(List.of());
		}

	}

	record Command(int amount) {

	}

	record Receipt(List<Line> lines) {

	}

	record Line(int amount) {

	}

}
