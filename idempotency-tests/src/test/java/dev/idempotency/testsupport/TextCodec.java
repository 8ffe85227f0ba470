/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.nio.charset.StandardCharsets;

import org.jspecify.annotations.Nullable;

import dev.idempotency.template.ResultCodec;

/**
 * Writes text as UTF-8.
 */
public final class TextCodec implements ResultCodec<String> {

	@Override
	public byte @Nullable [] write(@Nullable String result) {
		return (result != null) ? result.getBytes(StandardCharsets.UTF_8) : null;
	}

	@Override
	public String read(byte[] bytes) {
		return new String(bytes, StandardCharsets.UTF_8);
	}

}
