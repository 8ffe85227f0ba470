/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Long runs whose results are written to {@code docs/evidence.md}: kills, a soak, faults
 * of the network, failovers and versions of servers. The script {@code .ci/evidence} runs
 * them.
 */
@NullMarked
package dev.idempotency.evidence;

import org.jspecify.annotations.NullMarked;
