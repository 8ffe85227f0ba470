/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.boot.context.properties.bind.DataObjectPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.context.properties.source.IterableConfigurationPropertySource;
import org.springframework.core.env.Environment;
import org.springframework.core.env.SystemEnvironmentPropertySource;

/**
 * Warns of properties of the library that do not exist, because Spring Boot ignores them.
 * Environment variables are left out: other programs may use the prefix.
 *
 * @param environment the properties of the application
 */
record UnknownProperties(Environment environment) implements SmartInitializingSingleton {

	private static final Log logger = LogFactory.getLog(UnknownProperties.class);

	private static final ConfigurationPropertyName PREFIX = ConfigurationPropertyName.of("idempotency");

	static final List<ConfigurationPropertyName> KNOWN = Stream
		.of(of(IdempotencyProperties.class, PREFIX),
				of(ReconciliationProperties.class, ConfigurationPropertyName.of(ReconciliationProperties.PREFIX)),
				Stream.of(PREFIX.append("mdc.enabled")))
		.flatMap((names) -> names)
		.toList();

	private static Stream<ConfigurationPropertyName> of(Class<?> properties, ConfigurationPropertyName prefix) {
		return Arrays.stream(properties.getRecordComponents()).flatMap((component) -> of(component, prefix));
	}

	private static Stream<ConfigurationPropertyName> of(RecordComponent component, ConfigurationPropertyName prefix) {
		ConfigurationPropertyName name = prefix.append(DataObjectPropertyName.toDashedForm(component.getName()));
		return (component.getType().isRecord()) ? of(component.getType(), name) : Stream.of(name);
	}

	@Override
	public void afterSingletonsInstantiated() {
		StreamSupport.stream(ConfigurationPropertySources.get(this.environment).spliterator(), false)
			.filter((source) -> !(source.getUnderlyingSource() instanceof SystemEnvironmentPropertySource))
			.filter(IterableConfigurationPropertySource.class::isInstance)
			.flatMap((source) -> ((IterableConfigurationPropertySource) source).stream())
			.filter(PREFIX::isAncestorOf)
			// A section without properties in a YAML file is a property without a value.
			.filter((name) -> KNOWN.stream()
				.noneMatch((known) -> known.equals(name) || known.isAncestorOf(name) || name.isAncestorOf(known)))
			.distinct()
			.forEach((name) -> logger.warn("The library has no property '" + name + "'. The nearest one is '"
					+ nearest(name) + "'. Correct the name, unless the property is not meant for the library"));
	}

	private static ConfigurationPropertyName nearest(ConfigurationPropertyName name) {
		return KNOWN.stream()
			.min(Comparator.comparing((known) -> distance(name.toString(), known.toString())))
			.orElse(PREFIX);
	}

	// The number of characters to insert, delete or replace (Levenshtein).
	private static int distance(String from, String to) {
		int[] previous = new int[to.length() + 1];
		Arrays.setAll(previous, (i) -> i);
		for (int row = 1; row <= from.length(); row++) {
			int[] current = new int[to.length() + 1];
			current[0] = row;
			for (int i = 1; i <= to.length(); i++) {
				int replaced = previous[i - 1] + ((from.charAt(row - 1) != to.charAt(i - 1)) ? 1 : 0);
				current[i] = Math.min(replaced, 1 + Math.min(previous[i], current[i - 1]));
			}
			previous = current;
		}
		return previous[to.length()];
	}

}
