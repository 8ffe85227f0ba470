/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import dev.idempotency.Internal;
import dev.idempotency.StalePolicy;

/**
 * The version of an operation: it is run only if its version is higher than the one of
 * its key that completed last.
 *
 * @param number the version
 * @param onStale the reaction if a higher version has completed
 * @since 0.1.0
 */
@Internal
public record OperationVersion(long number, StalePolicy onStale) {

}
