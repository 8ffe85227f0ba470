/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.lang.reflect.Type;

import org.jspecify.annotations.Nullable;

import dev.idempotency.store.Fingerprint;

/**
 * Creates codecs for results, and the canonical form in which contents are compared.
 *
 * @since 0.1.0
 */
public interface Serialization {

	/**
	 * Create a codec for a declared type.
	 * @param type the type with its type arguments
	 * @return the codec
	 * @throws IllegalArgumentException if results of the type could be written but not
	 * read; the message gives the reason, and the listener does not start
	 */
	ResultCodec<Object> codec(Type type);

	/**
	 * Write a value in its canonical form: equal contents yield equal bytes, for any
	 * order of properties, map entries and elements of a set.
	 * @param value the value
	 * @return its bytes
	 * @throws RuntimeException if the content of the value cannot be written completely;
	 * the record is then rejected
	 */
	byte[] canonical(@Nullable Object value);

	/**
	 * Return the version of the {@linkplain #canonical canonical form}. An implementation
	 * that changes the form of any content must change the version, because fingerprints
	 * of different versions are not compared.
	 * @return the version, 0 to {@value Fingerprint#MAX_VERSION}
	 */
	default int canonicalVersion() {
		return 0;
	}

	/**
	 * Return the fingerprint of the {@linkplain #canonical canonical form}.
	 * @param value the value
	 * @return the fingerprint
	 * @throws RuntimeException if the content of the value cannot be written completely
	 */
	default byte[] fingerprint(@Nullable Object value) {
		return Fingerprint.of(canonicalVersion(), canonical(value));
	}

}
