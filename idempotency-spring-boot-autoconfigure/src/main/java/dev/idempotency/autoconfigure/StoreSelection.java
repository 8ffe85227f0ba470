/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * Selects the type of a store: the type that a property names, else the only candidate.
 *
 * @param factories the types that are available
 */
record StoreSelection(List<IdempotencyStoreFactory> factories) {

	// For an application that selects a type without its libraries or its connection.
	private static final List<Requirement> REQUIREMENTS = List.of(
			new Requirement(StoreType.JDBC, "there is no DataSource bean, or Spring JDBC is missing",
					"Add 'spring-boot-starter-jdbc' and a JDBC driver, and configure a DataSource"),
			new Requirement(StoreType.REDIS, "there is no RedisConnectionFactory bean of Lettuce",
					"Add 'spring-boot-starter-data-redis' and set 'spring.data.redis.*', or declare a "
							+ "LettuceConnectionFactory bean"),
			new Requirement(StoreType.DYNAMODB, "there is no DynamoDbClient bean",
					"Add 'software.amazon.awssdk:dynamodb' and declare a DynamoDbClient bean, or add the DynamoDB "
							+ "starter of Spring Cloud AWS"));

	IdempotencyStoreFactory select(@Nullable String type, String property) {
		List<IdempotencyStoreFactory> candidates = this.factories.stream()
			.filter((factory) -> (type != null) ? isSame(factory.type(), type) : factory.candidate() != null)
			.toList();
		if (type == null && candidates.size() > 1) {
			throw new IdempotencyConfigurationException(
					"There are several candidates for the idempotency store: "
							+ join(candidates.stream().map(IdempotencyStoreFactory::candidate), " and ") + ".",
					"Set '" + property + "' to "
							+ join(candidates.stream().map((factory) -> "'" + factory.type() + "'"), " or ") + ".");
		}
		return candidates.stream().findFirst().orElseThrow(() -> missing(type, property));
	}

	IdempotencyConfigurationException missing(@Nullable String type, String property) {
		if (type == null) {
			return new IdempotencyConfigurationException(
					"The application has idempotent listeners, but no idempotency store.",
					join(REQUIREMENTS.stream().map(Requirement::action), "; or ")
							+ "; or declare an IdempotencyStore bean.");
		}
		return REQUIREMENTS.stream()
			.filter((requirement) -> isSame(requirement.type(), type))
			.findFirst()
			.map((found) -> new IdempotencyConfigurationException(
					"'" + property + "' is '" + found.type() + "', but " + found.missing() + ".", found.action() + "."))
			.orElseGet(() -> new IdempotencyConfigurationException(
					"'" + property + "' is '" + type + "', but there is no such type of store.",
					"Set '" + property + "' to one of these types: " + types() + "."));
	}

	private String types() {
		return join(Stream
			.concat(this.factories.stream().map(IdempotencyStoreFactory::type),
					REQUIREMENTS.stream().map(Requirement::type))
			.distinct()
			.sorted(), ", ");
	}

	private static String join(Stream<? extends @Nullable String> parts, String separator) {
		return parts.collect(Collectors.joining(separator));
	}

	// As the binder of Spring Boot does: an environment variable has no hyphens.
	static boolean isSame(String type, String named) {
		return canonical(type).equals(canonical(named));
	}

	private static String canonical(String type) {
		return type.replaceAll("[-_]", "").toLowerCase(Locale.ROOT);
	}

	/**
	 * What a type of store of this library needs.
	 *
	 * @param type the type
	 * @param missing the missing libraries or connections, as the end of a sentence
	 * @param action what to do, without a period at the end
	 */
	private record Requirement(String type, String missing, String action) {

	}

}
