/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency;

import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import org.jspecify.annotations.Nullable;

/**
 * All {@code @KafkaListener} methods of the application whose containers are registered,
 * with and without protection. Containers that the application creates itself are not
 * listed.
 *
 * @since 0.1.0
 */
public final class ListenerCensus {

	// Methods may have the same name, and a method several containers.
	private final Map<List<@Nullable String>, Listener> listeners = new ConcurrentHashMap<>();

	/**
	 * Add a listener, or replace the one of the same name, topics and group.
	 * @param listener the listener
	 */
	@Internal
	public void add(Listener listener) {
		this.listeners.put(Arrays.asList(listener.name(), listener.topics(), listener.group()), listener);
	}

	/**
	 * Return the listeners that are registered so far. All of them are when the
	 * application has started, except those that are registered later.
	 * @return the listeners by their names
	 */
	public List<Listener> listeners() {
		return this.listeners.values()
			.stream()
			.sorted(Comparator.comparing(Listener::name)
				.thenComparing(Listener::topics)
				.thenComparing((listener) -> String.valueOf(listener.group())))
			.toList();
	}

	/**
	 * A listener method.
	 *
	 * @param name the name of the listener
	 * @param topics its topics, or the pattern of their names
	 * @param group its consumer group, {@code null} if it has none
	 * @param protection how it is protected, {@code null} if it is not
	 * @param reason why it needs no protection, according to {@link NotIdempotent};
	 * {@code null} if that is not said
	 * @since 0.1.0
	 */
	public record Listener(String name, String topics, @Nullable String group, @Nullable Protection protection,
			@Nullable String reason) {

	}

	/**
	 * How a listener is protected.
	 *
	 * @param mode the mode
	 * @param store the name of the store
	 * @param scope the scope of the keys
	 * @param key the expression of the key, {@code null} if it comes from headers
	 * @param fingerprint the expression of the content, {@code null} if it is the value
	 * of the record
	 * @param onOtherContent the reaction to a duplicate with other content
	 * @param retention the retention of a completed key
	 * @since 0.1.0
	 */
	public record Protection(Mode mode, String store, String scope, @Nullable String key, @Nullable String fingerprint,
			OtherContentPolicy onOtherContent, Duration retention) {

	}

}
