/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Settings of the command line, such as {@code rounds=5}, with their defaults.
 */
final class Settings {

	private final Map<String, String> values;

	private Settings(Map<String, String> values) {
		this.values = values;
	}

	static Settings parse(String[] arguments, Map<String, String> defaults) {
		Map<String, String> values = new LinkedHashMap<>(defaults);
		for (String argument : arguments) {
			int end = argument.indexOf('=');
			if (end < 0 || !values.containsKey(argument.substring(0, end))) {
				throw new IllegalArgumentException("Unknown setting '" + argument + "'. Use NAME=VALUE with one of "
						+ String.join(", ", values.keySet()));
			}
			values.put(argument.substring(0, end), argument.substring(end + 1));
		}
		return new Settings(values);
	}

	int number(String name) {
		return Integer.parseInt(text(name));
	}

	String text(String name) {
		return String.valueOf(this.values.get(name));
	}

	@Override
	public String toString() {
		return this.values.toString();
	}

}
