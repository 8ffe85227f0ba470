/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test;

import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.assertj.core.api.AssertProvider;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.template.OperationObserver.HandledOperation;

/**
 * The deliveries to an idempotent listener, for the {@code assertThat} of AssertJ.
 *
 * @since 0.1.0
 * @see RecordedDeliveries
 */
public final class ListenerDeliveries implements AssertProvider<ListenerDeliveriesAssert> {

	private final String listener;

	private final Predicate<String> names;

	private final Collection<HandledOperation> executions;

	private final KnownKeys keys;

	private final Supplier<Set<String>> listeners;

	ListenerDeliveries(String listener, Predicate<String> names, Collection<HandledOperation> executions,
			KnownKeys keys, Supplier<Set<String>> listeners) {
		this.listener = listener;
		this.names = names;
		this.executions = executions;
		this.keys = keys;
		this.listeners = listeners;
	}

	/**
	 * Return the deliveries of a key so far.
	 * @param key the key without its scope
	 * @return the outcomes, in their order
	 */
	public List<HandledOperation> of(String key) {
		return this.executions.stream()
			.filter((execution) -> this.names.test(execution.listener()))
			.filter((execution) -> execution.key() != null && execution.key().value().equals(key))
			.toList();
	}

	/**
	 * Return the records of a key in the store, whoever has written them. A listener that
	 * has finished no delivery has no known scope yet; then those of all scopes are
	 * returned.
	 * @param key the key without its scope
	 * @return the records, one for each scope; none for a scope whose store has forgotten
	 * the key
	 */
	public List<IdempotencyRecord> records(String key) {
		Set<String> scopes = scopes();
		return this.keys.records(key)
			.stream()
			.filter((record) -> scopes.isEmpty() || scopes.contains(record.key().scope()))
			.toList();
	}

	Set<String> scopes() {
		return this.executions.stream()
			.filter((execution) -> this.names.test(execution.listener()))
			.flatMap((execution) -> Stream.ofNullable(execution.key()))
			.map(IdempotencyKey::scope)
			.collect(Collectors.toSet());
	}

	/**
	 * Return the names of the listeners of the context and of the other operations that
	 * have been handled.
	 */
	Set<String> listeners() {
		Set<String> known = new TreeSet<>(this.listeners.get());
		this.executions.forEach((execution) -> known.add(execution.listener()));
		return known;
	}

	boolean isKnown() {
		return listeners().stream().anyMatch(this.names);
	}

	@Override
	public ListenerDeliveriesAssert assertThat() {
		return new ListenerDeliveriesAssert(this);
	}

	@Override
	public String toString() {
		return this.listener;
	}

}
