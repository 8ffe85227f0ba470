/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Delivers the records of a container to its listener: the delivery on the thread of the
 * consumer, its acknowledgments and the records that follow it.
 */
@Internal
@NullMarked
package dev.idempotency.listener.delivery;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
