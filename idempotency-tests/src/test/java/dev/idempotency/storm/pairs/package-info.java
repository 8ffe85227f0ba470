/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * A storm of small applications that contain every pair of abilities.
 */
package dev.idempotency.storm.pairs;
