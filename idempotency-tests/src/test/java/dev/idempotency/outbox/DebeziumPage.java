/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.springframework.boot.env.YamlPropertySourceLoader;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.io.ByteArrayResource;
import tools.jackson.databind.json.JsonMapper;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The instructions of {@code docs/outbox-debezium.md}.
 */
final class DebeziumPage {

	static final String PUBLICATION = "idempotency_outbox";

	private static final Path PAGE = Path.of("../docs/outbox-debezium.md");

	private DebeziumPage() {
	}

	/**
	 * The statements that prepare a database.
	 * @param name the name of the role and of the slot, which are the server's
	 * @return the statements
	 * @throws IOException if the page cannot be read
	 */
	static List<String> statements(String name) throws IOException {
		return List.of(block("sql").replace("'" + PUBLICATION + "'", "'" + name + "'")
			.replaceAll("(ROLE|TO) debezium", "$1 " + name)
			.split(";\n"));
	}

	/**
	 * The configuration of the connector.
	 * @return its properties
	 * @throws IOException if the page cannot be read
	 */
	static Map<String, String> connector() throws IOException {
		Map<String, String> configuration = new TreeMap<>();
		JsonMapper.shared()
			.readTree(block("json"))
			.get("config")
			.properties()
			.forEach((property) -> configuration.put(property.getKey(), property.getValue().stringValue()));
		return configuration;
	}

	/**
	 * The properties of the application.
	 * @return its properties
	 * @throws IOException if the page cannot be read
	 */
	static Map<String, Object> application() throws IOException {
		ByteArrayResource yaml = new ByteArrayResource(block("yaml").getBytes());
		MapPropertySource source = (MapPropertySource) new YamlPropertySourceLoader().load("page", yaml).get(0);
		Map<String, Object> properties = new TreeMap<>();
		for (String name : source.getPropertyNames()) {
			properties.put(name, source.getProperty(name));
		}
		return properties;
	}

	private static String block(String language) throws IOException {
		Matcher block = Pattern.compile("```" + language + "\n(.*?)```", Pattern.DOTALL)
			.matcher(Files.readString(PAGE));
		assertThat(block.find()).as(language + " in " + PAGE).isTrue();
		return block.group(1);
	}

}
