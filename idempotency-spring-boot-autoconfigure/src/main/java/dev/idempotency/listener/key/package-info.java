/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Resolves a Kafka record to the idempotent operation that it requests: its scope, its
 * key and its fingerprint.
 */
@Internal
@NullMarked
package dev.idempotency.listener.key;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
