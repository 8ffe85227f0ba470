/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.released;

import java.util.List;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;

/**
 * An application with one version of the library. Its methods use only types of the JDK
 * and of this package, because each version has classes of its own.
 */
public interface Instance extends AutoCloseable {

	/**
	 * Run an operation.
	 * @param order the operation
	 * @param handler returns the result, or throws {@link UnsupportedOperationException}
	 * to decline the operation
	 * @return the outcome: the result and the attempt of an execution, the reason of a
	 * declined operation, "stale", or the name of an exception; with "duplicate" before
	 * it if the operation was replayed
	 */
	String run(Order order, Supplier<String> handler);

	/**
	 * Claim a key without renewing the claim.
	 * @param order the operation
	 * @param lease the lease in milliseconds
	 * @return the answer of the store
	 */
	String claim(Order order, long lease);

	/**
	 * Complete the last claim of a key.
	 * @param order the operation
	 * @return the answer of the store
	 */
	String complete(Order order);

	/**
	 * Describe the record of a key.
	 * @param order the operation
	 * @return the record without its times
	 */
	String find(Order order);

	/**
	 * Process a record without a key.
	 * @param store the store
	 * @param topic the topic
	 * @param offset the offset
	 * @return the previous mark of the partition
	 */
	long raise(String store, String topic, long offset);

	/**
	 * Send a message to the outbox.
	 * @param key the message key
	 * @param payload the payload
	 */
	void send(String key, String payload);

	/**
	 * Publish the messages of the outbox.
	 * @return their keys and payloads, headers included
	 */
	List<String> relay();

	@Override
	void close();

	/**
	 * An operation.
	 *
	 * @param store the store
	 * @param transactional whether it commits in a transaction
	 * @param key the key
	 * @param content the content that the key stands for
	 * @param version the version of the content
	 */
	record Order(String store, boolean transactional, String key, @Nullable String content, @Nullable Long version) {

		Order withContent(String content) {
			return new Order(this.store, this.transactional, this.key, content, this.version);
		}

		Order withVersion(long version) {
			return new Order(this.store, this.transactional, this.key, this.content, version);
		}

	}

}
