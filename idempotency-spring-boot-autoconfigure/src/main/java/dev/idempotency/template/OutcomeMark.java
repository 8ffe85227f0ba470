/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * The first bytes of a stored outcome that is not simply a result. A result that begins
 * with a mark by chance is stored behind another mark.
 */
enum OutcomeMark {

	DECLINED('R'),

	// A result that begins with a mark.
	RESULT('V'),

	// An outcome that a StoredOutcomeTransformer has changed.
	TRANSFORMED('T'),

	// A result that could not be stored.
	NOT_STORED('N');

	static final int LENGTH = 7;

	private static final byte[] COMMON = { 0, 'i', 'd', 'e', 'm', 0 };

	private final byte kind;

	OutcomeMark(char kind) {
		this.kind = (byte) kind;
	}

	// Whether bytes could be taken for a marked outcome.
	static boolean isAmbiguous(byte[] bytes) {
		return bytes.length >= COMMON.length && Arrays.equals(bytes, 0, COMMON.length, COMMON, 0, COMMON.length);
	}

	boolean isOn(byte[] stored) {
		return isAmbiguous(stored) && stored.length > COMMON.length && stored[COMMON.length] == this.kind;
	}

	ByteBuffer begin(int length) {
		return ByteBuffer.allocate(LENGTH + length).put(COMMON).put(this.kind);
	}

	byte[] on(byte[] content) {
		return begin(content.length).put(content).array();
	}

	byte[] remove(byte[] stored) {
		return Arrays.copyOfRange(stored, LENGTH, stored.length);
	}

}
