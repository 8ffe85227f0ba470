/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.reconcile;

import java.util.Collection;
import java.util.List;

/**
 * A listener whose topics can be compared with the store.
 *
 * @since 0.1.0
 */
public interface ReconcilableListener {

	/**
	 * Return the id of its container.
	 * @return the id
	 */
	String id();

	/**
	 * Return the names of its protected methods.
	 * @return the names, as in their log lines
	 */
	Collection<String> names();

	/**
	 * Return the topics from which it receives records.
	 * @return the topics, or the pattern of their names
	 */
	List<String> topics();

	/**
	 * Return whether its container is still registered.
	 * @return whether it has not been replaced or removed
	 */
	boolean isRegistered();

	/**
	 * Open the range of a request. Its end is fixed now.
	 * @param request the request
	 * @return the records
	 * @throws IllegalArgumentException if the listener does not have the topic or the
	 * partition
	 * @throws IllegalStateException if its records cannot be read outside of a delivery,
	 * or the broker does not answer
	 */
	TopicRange open(ReconciliationRequest request);

}
