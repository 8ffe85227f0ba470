/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

/**
 * The failure of a handler that the scenario has decided.
 */
final class HandlerFailedException extends RuntimeException {

	private static final long serialVersionUID = 1L;

	HandlerFailedException() {
		super("The scenario lets the handler fail");
	}

}
