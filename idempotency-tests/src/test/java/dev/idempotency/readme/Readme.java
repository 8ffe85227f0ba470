/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.readme;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

import org.springframework.beans.factory.config.YamlPropertiesFactoryBean;
import org.springframework.core.io.ByteArrayResource;

/**
 * The snippets of {@code README.md} with the application code that they require.
 */
final class Readme {

	static final String TOPIC = "payments";

	private static final Markdown DOCUMENT = Markdown.read(Path.of("../README.md"));

	private static final Map<String, String> APPLICATION = Map.of("PaymentCommand", """
			package com.example;

			public record PaymentCommand(String paymentId, String account, int amount) {
			}
			""", "CardGateway", """
			package com.example;

			import java.nio.file.*;

			@org.springframework.stereotype.Component
			class CardGateway {

				@org.springframework.beans.factory.annotation.Value("${gateway.file}")
				private Path file;

				void charge(PaymentCommand command, String key) {
					try {
						Files.writeString(this.file, key + " " + command.amount() + System.lineSeparator(),
								StandardOpenOption.CREATE, StandardOpenOption.APPEND);
					}
					catch (java.io.IOException ex) {
						throw new IllegalStateException(ex);
					}
				}

			}
			""", "Application", """
			package com.example;

			import org.springframework.boot.SpringApplication;
			import org.springframework.boot.autoconfigure.SpringBootApplication;

			@SpringBootApplication
			public class Application {

				public static void main(String[] arguments) {
					SpringApplication.run(Application.class, arguments);
				}

			}
			""");

	private Readme() {
	}

	/**
	 * Return the properties of an example with replaced server addresses.
	 * @param store the store of the example
	 * @param addresses the addresses by the names of their properties
	 * @return the properties
	 */
	static Map<String, Object> properties(Store store, Map<String, String> addresses) {
		YamlPropertiesFactoryBean yaml = new YamlPropertiesFactoryBean();
		yaml.setResources(new ByteArrayResource(block(store, "yaml").getBytes(StandardCharsets.UTF_8)));
		Map<String, Object> properties = new LinkedHashMap<>();
		yaml.getObject().forEach((name, value) -> properties.put((String) name, value));
		properties.putAll(addresses);
		return properties;
	}

	/**
	 * Return the source files of an application with the listener of an example.
	 * @param store the store of the example
	 * @return the contents by the names of their classes
	 */
	static Map<String, String> sources(Store store) {
		Map<String, String> sources = new LinkedHashMap<>(APPLICATION);
		sources.put(store.listener, block(store, "java"));
		return sources;
	}

	/**
	 * Return the dependency on the starter of a store.
	 * @param store the store
	 * @return the XML
	 */
	static String dependency(Store store) {
		return block(Store.JDBC, "xml").replace("idempotency-spring-boot-starter<", store.starter + "<");
	}

	private static String block(Store store, String language) {
		return DOCUMENT.section(store.heading)
			.blocks(language)
			.stream()
			.findFirst()
			.map(Markdown.Block::content)
			.orElseThrow();
	}

	/**
	 * The examples.
	 */
	enum Store {

		JDBC("The effect is in a database: JDBC", "LedgerListener", "idempotency-spring-boot-starter"),

		REDIS("The effect is elsewhere: Redis", "GatewayListener", "idempotency-spring-boot-starter-redis");

		private final String heading;

		private final String listener;

		private final String starter;

		Store(String heading, String listener, String starter) {
			this.heading = heading;
			this.listener = listener;
			this.starter = starter;
		}

		/**
		 * Return the name of the class of the listener.
		 * @return the simple name
		 */
		String listener() {
			return this.listener;
		}

	}

}
