/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Applications of the kinds that are published as examples of Spring Kafka, with and
 * without the library.
 */
package dev.idempotency.applications;
