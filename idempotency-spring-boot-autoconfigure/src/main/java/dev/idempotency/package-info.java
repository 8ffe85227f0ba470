/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The types that an application uses: the annotation, the key, the execution and the
 * exceptions.
 * <p>
 * The prefix of an exception says what it is about. {@code Operation…Exception} says what
 * happened to the operation: it is blocked, in progress, not acknowledged, lost, declined
 * or rejected. {@code Idempotency<Part>…Exception} names the part that is the reason, and
 * ends with its condition: missing, reused, unusable, stale, unreadable, refused or
 * unavailable. Except for a declined operation and a configuration, each is an
 * {@link dev.idempotency.OperationBlockedException} or an
 * {@link dev.idempotency.OperationRejectedException}.
 */
@NullMarked
package dev.idempotency;

import org.jspecify.annotations.NullMarked;
