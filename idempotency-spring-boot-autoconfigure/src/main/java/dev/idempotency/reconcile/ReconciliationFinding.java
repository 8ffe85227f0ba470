/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.reconcile;

import java.time.Instant;

import org.jspecify.annotations.Nullable;

/**
 * A record of a topic that a reconciliation lists, without its payload: one whose status
 * {@link ReconciliationStatus#isFinding() needs attention} or was requested.
 *
 * @param topic the topic
 * @param partition the partition
 * @param offset the offset
 * @param timestamp the timestamp of the record
 * @param status the status
 * @param scope the scope, {@code null} if the key is
 * @param key the key, {@code null} if the record has none or it cannot be resolved
 * @param detail an explanation without values of the payload, {@code null} if the status
 * needs none
 * @since 0.1.0
 */
public record ReconciliationFinding(String topic, int partition, long offset, Instant timestamp,
		ReconciliationStatus status, @Nullable String scope, @Nullable String key, @Nullable String detail) {

}
