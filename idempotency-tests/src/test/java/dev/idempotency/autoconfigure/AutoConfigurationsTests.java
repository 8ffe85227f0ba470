/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import dev.idempotency.Idempotent;
import dev.idempotency.testsupport.Contexts;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for rules that apply to all auto-configurations and properties.
 */
class AutoConfigurationsTests {

	private static final Set<String> WITHOUT_DEFAULT = Set.of("idempotency.dynamodb.client",
			"idempotency.jdbc.data-source", "idempotency.jdbc.transaction-manager", "idempotency.outbox.kafka-template",
			"idempotency.reconciliation.from", "idempotency.reconciliation.from-offset",
			"idempotency.reconciliation.listener", "idempotency.reconciliation.output",
			"idempotency.reconciliation.partition", "idempotency.reconciliation.to", "idempotency.reconciliation.topic",
			"idempotency.redis.connection-factory", "idempotency.store.migrate-from", "idempotency.store.type",
			"idempotency.stores");

	@ParameterizedTest
	@MethodSource
	void namedAutoConfigurationExists(String name) {
		assertThat(Contexts.autoConfigurations().map(Class::getName).toList().contains(name) || isOfBoot(name)).as(name)
			.isTrue();
	}

	static Stream<String> namedAutoConfigurationExists() {
		return Contexts.autoConfigurations()
			.map((type) -> type.getAnnotation(AutoConfiguration.class))
			.flatMap((annotation) -> Stream.concat(
					Stream.of(annotation.afterName(), annotation.beforeName()).flatMap(Arrays::stream),
					Stream.of(annotation.after(), annotation.before()).flatMap(Arrays::stream).map(Class::getName)));
	}

	private static boolean isOfBoot(String name) {
		try {
			// These are not on the class path of the tests.
			return name.endsWith(".LiquibaseAutoConfiguration") || name.startsWith("io.awspring.cloud.")
					|| name.startsWith("org.springframework.boot.micrometer.tracing.")
					|| Class.forName(name).isAnnotationPresent(AutoConfiguration.class);
		}
		catch (ClassNotFoundException ex) {
			return false;
		}
	}

	@ParameterizedTest
	@MethodSource("packages")
	void packageIsNullMarked(String candidate) throws ClassNotFoundException {
		assertThat(Class.forName(candidate + ".package-info").isAnnotationPresent(NullMarked.class)).isTrue();
	}

	// The libraries of some packages are not on the class path.
	static Stream<String> packages() {
		String root = Idempotent.class.getPackageName();
		return new ClassFileImporter().withImportOption(new ImportOption.DoNotIncludeTests())
			.importPackages(root)
			.stream()
			.map(JavaClass::getPackageName)
			.distinct();
	}

	@ParameterizedTest
	@MethodSource("properties")
	void propertyHasADescription(JsonNode property) {
		assertThat(property.path("description").asString("")).as(property.path("name").asString())
			.matches("[A-Z].*\\.");
	}

	@ParameterizedTest
	@MethodSource("properties")
	void propertyHasADefault(JsonNode property) {
		String name = property.path("name").asString();
		assertThat(property.has("defaultValue")).as(name).isEqualTo(!WITHOUT_DEFAULT.contains(name));
	}

	@ParameterizedTest
	@CsvSource({ "idempotency.jdbc.data-source, javax.sql.DataSource",
			"idempotency.jdbc.transaction-manager, org.springframework.transaction.PlatformTransactionManager",
			"idempotency.redis.connection-factory, org.springframework.data.redis.connection.RedisConnectionFactory",
			"idempotency.dynamodb.client, software.amazon.awssdk.services.dynamodb.DynamoDbClient",
			"idempotency.outbox.kafka-template, org.springframework.kafka.core.KafkaTemplate" })
	void propertyWithTheNameOfABeanOffersTheBeansOfItsType(String name, Class<?> type) throws IOException {
		assertThat(named("properties", name)).hasSize(1);
		assertThat(named("hints", name)).singleElement().satisfies((hint) -> {
			JsonNode provider = hint.path("providers").path(0);
			assertThat(provider.path("name").asString()).isEqualTo("spring-bean-reference");
			assertThat(provider.path("parameters").path("target").asString()).isEqualTo(type.getName());
		});
	}

	@Test
	void hintsBelongToProperties() throws IOException {
		assertThat(metadata("hints")).isNotEmpty()
			.allSatisfy((hint) -> assertThat(named("properties", hint.path("name").asString())).hasSize(1));
	}

	@Test
	void metadataContainsTheSwitchOfTheHealthIndicator() throws IOException {
		assertThat(named("properties", "management.health.idempotency.enabled")).singleElement()
			.satisfies((property) -> assertThat(property.path("defaultValue").asBoolean()).isTrue());
	}

	static List<JsonNode> properties() throws IOException {
		return metadata("properties").stream()
			.filter((property) -> property.path("name").asString().startsWith("idempotency."))
			.toList();
	}

	private static List<JsonNode> named(String group, String name) throws IOException {
		return metadata(group).stream().filter((entry) -> entry.path("name").asString().equals(name)).toList();
	}

	private static List<JsonNode> metadata(String group) throws IOException {
		try (InputStream metadata = IdempotencyProperties.class
			.getResourceAsStream("/META-INF/spring-configuration-metadata.json")) {
			return JsonMapper.builder().build().readTree(metadata).path(group).valueStream().toList();
		}
	}

}
