/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.readme;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import dev.idempotency.Idempotent;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Compares {@code docs/properties.md} with the configuration metadata. With
 * {@code -Dtest.write-docs} the tables are written to the page instead.
 */
class PropertiesPageTests {

	private static final Path PAGE = Path.of("../docs/properties.md");

	private static final String HEAD = "| property | default | meaning |\n|---|---|---|\n";

	private static final Pattern TABLE = Pattern.compile("<!-- (\\S+) -->\n\n" + Pattern.quote(HEAD) + "(?:\\|.*\n)*");

	private static final Pattern ATTRIBUTE = Pattern.compile("^\\| `(\\w+)` \\|", Pattern.MULTILINE);

	private static final Map<String, JsonNode> PROPERTIES = properties();

	@Test
	void tablesListAllPropertiesWithTheirDefaults() throws IOException {
		String page = Files.readString(PAGE);
		String written = TABLE.matcher(page)
			.replaceAll((table) -> Matcher
				.quoteReplacement("<!-- " + table.group(1) + " -->\n\n" + HEAD + rows(table.group(1))));
		if (System.getProperty("test.write-docs") != null) {
			Files.writeString(PAGE, written);
			return;
		}
		assertThat(page).as("docs/properties.md. Run with -Dtest.write-docs to write it").isEqualTo(written);
	}

	@Test
	void everyPropertyIsInATable() throws IOException {
		String page = Files.readString(PAGE);
		assertThat(PROPERTIES.keySet()).allMatch((name) -> page.contains("| `" + name + "` |"));
	}

	@Test
	void tableListsAllAttributesOfTheAnnotation() throws IOException {
		assertThat(ATTRIBUTE.matcher(Files.readString(PAGE)).results().map((row) -> row.group(1)))
			.containsExactlyInAnyOrderElementsOf(
					Stream.of(Idempotent.class.getDeclaredMethods()).map(Method::getName).toList());
	}

	// A pattern selects the properties of a table.
	private static String rows(String pattern) {
		return PROPERTIES.entrySet()
			.stream()
			.filter((property) -> property.getKey().matches(pattern))
			.map((property) -> "| `" + property.getKey() + "` | " + defaultValue(property.getValue()) + " | "
					+ property.getValue().path("description").asString("").replace("|", "\\|")
					+ values(property.getValue()) + " |\n")
			.collect(Collectors.joining());
	}

	private static String defaultValue(JsonNode property) {
		JsonNode value = property.path("defaultValue");
		if (value.isMissingNode() || value.isEmpty() && value.isArray()) {
			return "";
		}
		return value.isArray()
				? value.valueStream().map((each) -> "`" + each.asString() + "`").collect(Collectors.joining(", "))
				: "`" + value.asString().replace("read_only", "read-only") + "`";
	}

	private static String values(JsonNode property) {
		try {
			Object[] constants = Class.forName(property.path("type").asString()).getEnumConstants();
			return (constants != null) ? Stream.of(constants)
				// Only for the annotation.
				.filter((value) -> !"DEFAULT".equals(((Enum<?>) value).name()))
				.map((value) -> "`" + ((Enum<?>) value).name().toLowerCase(Locale.ROOT).replace('_', '-') + "`")
				.collect(Collectors.joining(", ", " Values: ", ".")) : "";
		}
		catch (ClassNotFoundException ex) {
			// A generic type, which is no enumeration.
			return "";
		}
	}

	private static Map<String, JsonNode> properties() {
		Map<String, JsonNode> properties = new TreeMap<>();
		try {
			for (URL file : Collections
				.list(Idempotent.class.getClassLoader().getResources("META-INF/spring-configuration-metadata.json"))) {
				try (InputStream input = file.openStream()) {
					for (JsonNode property : JsonMapper.shared().readTree(input).path("properties")) {
						String name = property.path("name").asString();
						if (name.matches("idempotency\\..*|management\\.(endpoint|health)\\.idempotency.*")) {
							properties.put(name, property);
						}
					}
				}
			}
		}
		catch (IOException ex) {
			throw new IllegalStateException(ex);
		}
		return properties;
	}

}
