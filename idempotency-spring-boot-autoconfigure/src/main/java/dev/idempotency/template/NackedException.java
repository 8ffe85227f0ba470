/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import dev.idempotency.Internal;

/**
 * Thrown by a handler that requests the redelivery of its record, such as a listener that
 * has negatively acknowledged it. Its effects are rolled back and its claim is released.
 * The request is neither a failure nor an attempt.
 *
 * @since 0.1.0
 */
@Internal
@SuppressWarnings("serial")
public final class NackedException extends RuntimeException {

	public NackedException() {
		super("The listener negatively acknowledged the record", null, false, false);
	}

}
