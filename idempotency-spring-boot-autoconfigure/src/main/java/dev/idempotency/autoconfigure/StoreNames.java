/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

import org.springframework.boot.context.properties.bind.BindResult;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.core.env.Environment;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * The stores that the properties define, for decisions before there are beans.
 *
 * @param names the names of the stores of {@code idempotency.stores}
 * @param types the types that properties name
 * @param automatic whether a store has no type, so that it is the only candidate
 */
record StoreNames(Set<String> names, Set<String> types, boolean automatic) {

	// The name of the store that listeners use unless they name another one.
	static final String DEFAULT = "default";

	private static final Pattern NAME = Pattern.compile("[A-Za-z][A-Za-z0-9-]{0,39}");

	static StoreNames of(Environment environment) {
		Binder binder = Binder.get(environment);
		Map<String, Object> stores = binder.bind("idempotency.stores", Bindable.mapOf(String.class, Object.class))
			.orElseGet(Map::of);
		stores.keySet().forEach(StoreNames::check);
		requireDistinct(stores.keySet());
		List<BindResult<String>> types = new ArrayList<>();
		types.add(binder.bind("idempotency.store.type", String.class));
		stores.keySet().forEach((name) -> types.add(binder.bind("idempotency.stores." + name + ".type", String.class)));
		Set<String> named = new HashSet<>();
		types.forEach((type) -> type.ifBound(named::add));
		return new StoreNames(stores.keySet(), named, !types.stream().allMatch(BindResult::isBound));
	}

	boolean mayHave(String type, boolean candidate) {
		return (candidate && this.automatic)
				|| this.types.stream().anyMatch((named) -> StoreSelection.isSame(type, named));
	}

	// An environment variable has no hyphens, so it would define another store.
	private static void requireDistinct(Set<String> names) {
		Map<String, String> distinct = new HashMap<>();
		for (String name : names) {
			String other = distinct.put(name.replace("-", "").toLowerCase(Locale.ROOT), name);
			IdempotencyConfigurationException.check(other == null,
					"'idempotency.stores' contains the names '" + other + "' and '" + name
							+ "', which differ by hyphens or case only.",
					"Use one of them. If an environment variable sets a property of the store, choose a name in "
							+ "lower case without hyphens.");
		}
	}

	private static void check(String name) {
		IdempotencyConfigurationException.check(!name.equals(DEFAULT) && NAME.matcher(name).matches(),
				"'idempotency.stores' contains the name '" + name + "'"
						+ (name.equals(DEFAULT) ? ", which stands for the store of 'idempotency.store.*'." : "."),
				"Choose a name of at most 40 letters, digits and hyphens that begins with a letter and is not '"
						+ DEFAULT + "'.");
	}

}
