/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.micrometer;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

import org.yaml.snakeyaml.Yaml;

/**
 * The published alert rules.
 */
final class AlertRules {

	private static final Path FILE = Path.of("..", "docs", "monitoring", "alerts.yml");

	private AlertRules() {
	}

	static List<Map<String, Object>> all() throws IOException {
		Map<String, List<Map<String, List<Map<String, Object>>>>> file = new Yaml().load(Files.readString(FILE));
		return file.get("groups").get(0).get("rules");
	}

	static Map<String, Object> rule(String alert) throws IOException {
		return all().stream().filter((rule) -> rule.get("alert").equals(alert)).findFirst().orElseThrow();
	}

}
