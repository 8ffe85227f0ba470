/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;

import dev.idempotency.template.IdempotencyTemplate;

/**
 * What an engine still keeps of its claims. The fields are private, so they are read by
 * reflection.
 */
final class EngineState {

	private static final List<String> MAPS = List.of("engine.claims.latest", "engine.claims.earlier",
			"settlements.pending", "settlements.queued", "claimsAhead.unused", "asynchronous.running");

	private EngineState() {
	}

	static List<String> remaining(IdempotencyTemplate template) {
		return UnreliableStore.withoutScheduling(() -> {
			List<String> remaining = new ArrayList<>();
			for (String path : MAPS) {
				// A map counts a removal after it has happened.
				Object kept = read(template, path);
				List<?> values = new ArrayList<>((kept instanceof Map<?, ?> map) ? map.values() : (Collection<?>) kept);
				if (!values.isEmpty()) {
					remaining.add(path + " has " + values.size() + " elements");
				}
			}
			return remaining;
		});
	}

	private static Object read(Object root, String path) {
		Object object = root;
		try {
			for (String name : path.split("\\.")) {
				Field field = object.getClass().getDeclaredField(name);
				field.setAccessible(true);
				object = field.get(object);
			}
		}
		catch (ReflectiveOperationException ex) {
			throw new IllegalStateException("The engine has no field " + path + ". Correct the paths in EngineState",
					ex);
		}
		return object;
	}

}
