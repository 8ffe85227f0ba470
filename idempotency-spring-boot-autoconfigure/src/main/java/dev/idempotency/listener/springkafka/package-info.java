/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The only package that accesses members which Spring Kafka and Spring Integration hide,
 * or which only newer versions of them have. Each class is one repair. It says which
 * versions need it, which release ends it, and what happens if a version does not have
 * the members. No class writes to a final field.
 */
@Internal
@NullMarked
package dev.idempotency.listener.springkafka;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
