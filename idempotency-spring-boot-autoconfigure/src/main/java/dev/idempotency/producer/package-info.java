/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The producer side: idempotency keys of records, and the Kafka producer of the outbox.
 */
@NullMarked
package dev.idempotency.producer;

import org.jspecify.annotations.NullMarked;
