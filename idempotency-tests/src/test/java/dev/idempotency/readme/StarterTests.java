/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.readme;

import java.nio.file.Files;
import java.nio.file.Path;

import javax.xml.parsers.DocumentBuilderFactory;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests that the documentation lists the dependencies of the starters.
 */
class StarterTests {

	@ParameterizedTest
	@ValueSource(strings = { "idempotency-spring-boot-starter", "idempotency-spring-boot-starter-redis" })
	void pageListsTheDependenciesOfTheStarter(String starter) throws Exception {
		assertThat(Files.readString(Path.of("../docs/stores.md")))
			.contains("```\ndev.idempotency:" + starter + "\n" + tree(starter) + "```\n");
	}

	private static String tree(String starter) throws Exception {
		NodeList nodes = DocumentBuilderFactory.newInstance()
			.newDocumentBuilder()
			.parse(Path.of("..", starter, "pom.xml").toFile())
			.getElementsByTagName("dependency");
		StringBuilder tree = new StringBuilder();
		for (int i = 0; i < nodes.getLength(); i++) {
			Element dependency = (Element) nodes.item(i);
			String scope = text(dependency, "scope");
			tree.append((i < nodes.getLength() - 1) ? "+- " : "\\- ")
				.append(text(dependency, "groupId"))
				.append(':')
				.append(text(dependency, "artifactId"))
				.append(scope.isEmpty() ? "" : " (" + scope + ")")
				.append('\n');
		}
		return tree.toString();
	}

	private static String text(Element element, String name) {
		NodeList nodes = element.getElementsByTagName(name);
		return (nodes.getLength() > 0) ? nodes.item(0).getTextContent() : "";
	}

}
