/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

import java.nio.charset.StandardCharsets;

import dev.idempotency.template.ResultCodec;

/**
 * Stores the text that a handler returns.
 */
final class TextCodec implements ResultCodec<String> {

	@Override
	public byte[] write(String result) {
		return (result != null) ? result.getBytes(StandardCharsets.UTF_8) : null;
	}

	@Override
	public String read(byte[] bytes) {
		return new String(bytes, StandardCharsets.UTF_8);
	}

}
