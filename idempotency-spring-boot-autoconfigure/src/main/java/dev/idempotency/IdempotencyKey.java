/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.UUID;

import org.jspecify.annotations.Nullable;
import org.springframework.util.StringUtils;

/**
 * The name of a business operation within a scope.
 *
 * @since 0.1.0
 */
public final class IdempotencyKey {

	/**
	 * The longest allowed key and the longest allowed scope, in characters.
	 */
	public static final int MAX_LENGTH = 512;

	// A new digest for each key would allocate more than the rest of a delivery.
	private static final ThreadLocal<MessageDigest> SHA_256 = ThreadLocal.withInitial(IdempotencyKey::createSha256);

	private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

	private final String scope;

	private final String value;

	private final UUID id;

	private IdempotencyKey(String scope, String value) {
		this.scope = checked("scope", scope);
		this.value = checked("value", value);
		this.id = hash(scope, value);
	}

	/**
	 * Create a key.
	 * @param scope the consumer for which the operation is idempotent, 1 to
	 * {@value #MAX_LENGTH} characters
	 * @param value the name of the operation, 1 to {@value #MAX_LENGTH} characters
	 * @return the key
	 * @throws IllegalArgumentException if one of them is blank or too long, has a control
	 * character, or is not well-formed Unicode
	 */
	public static IdempotencyKey of(String scope, String value) {
		return new IdempotencyKey(scope, value);
	}

	private static String checked(String name, String text) {
		String problem = problem(text);
		if (problem != null) {
			throw new IllegalArgumentException("'" + name + "' " + problem);
		}
		return text;
	}

	/**
	 * Check whether a text can be a key or a scope.
	 * @param text the text
	 * @return the problem, as the end of a sentence whose subject is the text;
	 * {@code null} if there is none
	 */
	public static @Nullable String problem(@Nullable String text) {
		if (!StringUtils.hasText(text)) {
			return "is blank";
		}
		if (text.length() > MAX_LENGTH) {
			return "has " + text.length() + " characters, more than " + MAX_LENGTH;
		}
		for (int i = 0; i < text.length(); i++) {
			char character = text.charAt(i);
			if (Character.isISOControl(character)) {
				return "has a control character";
			}
			if (Character.isSurrogate(character)) {
				if (i + 1 == text.length() || !Character.isSurrogatePair(character, text.charAt(i + 1))) {
					return "is not well-formed Unicode";
				}
				i++;
			}
		}
		return null;
	}

	private static UUID hash(String scope, String value) {
		byte[] scopeBytes = scope.getBytes(StandardCharsets.UTF_8);
		byte[] valueBytes = value.getBytes(StandardCharsets.UTF_8);
		MessageDigest digest = sha256();
		digest.update((byte) (scopeBytes.length >>> 8));
		digest.update((byte) scopeBytes.length);
		digest.update(scopeBytes);
		byte[] hash = digest.digest(valueBytes);
		return new UUID((long) LONG.get(hash, 0), (long) LONG.get(hash, Long.BYTES));
	}

	/**
	 * Return the SHA-256 digest of this thread, for one calculation that calls no other
	 * code.
	 * @return the digest
	 */
	@Internal
	public static MessageDigest sha256() {
		MessageDigest digest = SHA_256.get();
		// An Error may have ended the previous calculation of this thread.
		digest.reset();
		return digest;
	}

	private static MessageDigest createSha256() {
		try {
			return MessageDigest.getInstance("SHA-256");
		}
		catch (NoSuchAlgorithmException ex) {
			throw new IllegalStateException("SHA-256 is not available, although every Java platform must provide it",
					ex);
		}
	}

	/**
	 * Return the scope of the key.
	 * @return the consumer for which the operation is idempotent
	 */
	public String scope() {
		return this.scope;
	}

	/**
	 * Return the key without its scope.
	 * @return the name of the operation
	 */
	public String value() {
		return this.value;
	}

	/**
	 * Return a primary key of fixed size: the first 16 bytes of a SHA-256 digest over the
	 * length of the scope, the scope and the value.
	 * @return the identifier
	 */
	public UUID id() {
		return this.id;
	}

	@Override
	public boolean equals(@Nullable Object other) {
		return other instanceof IdempotencyKey that && this.scope.equals(that.scope) && this.value.equals(that.value);
	}

	@Override
	public int hashCode() {
		return this.id.hashCode();
	}

	@Override
	public String toString() {
		return "key '" + ReadableText.of(this.value) + "' in scope '" + ReadableText.of(this.scope) + "'";
	}

}
