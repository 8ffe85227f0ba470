/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Reads a range of the topics of a listener and resolves its records to their keys,
 * without running the listener.
 */
@Internal
@NullMarked
package dev.idempotency.listener.range;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
