/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.time.Instant;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;

/**
 * A duplicate with other content than the operation for which its key stands.
 *
 * @param listener the name of the listener, from a bounded set
 * @param key the key
 * @param record the source of the duplicate, for a listener with topic, partition and
 * offset
 * @param first the source of the operation that has completed, {@code null} if this
 * process does not know it any more
 * @param time the time of the duplicate
 * @since 0.1.0
 */
public record OtherContent(String listener, IdempotencyKey key, String record, @Nullable String first, Instant time) {

}
