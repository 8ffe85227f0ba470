/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.store;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Internal;
import dev.idempotency.RateLimit;

/**
 * Creates and compares fingerprints of the content that a key stands for. A fingerprint
 * is one byte with the version of the canonical form of the content, followed by the
 * SHA-256 digest of that form. Two fingerprints are compared only if they have the same
 * version. Otherwise the key alone decides, as without a fingerprint, and a warning is
 * logged. There is one exception: {@link #differs}.
 *
 * @since 0.1.0
 */
public final class Fingerprint {

	/**
	 * The length of a fingerprint in bytes.
	 */
	public static final int LENGTH = 33;

	/**
	 * The highest version of a canonical form.
	 */
	public static final int MAX_VERSION = 62;

	private static final int REPORTED = 64;

	private static final int MESSAGE = Byte.MAX_VALUE;

	private static final Log logger = LogFactory.getLog(Fingerprint.class);

	private static final RateLimit warnings = new RateLimit(1, System::nanoTime);

	private Fingerprint() {
	}

	/**
	 * Create the fingerprint of content whose form the application defines and never
	 * changes.
	 * @param content the content
	 * @return the fingerprint, with version 0
	 */
	public static byte[] of(byte[] content) {
		return of(0, content);
	}

	/**
	 * Create the fingerprint of content in a canonical form.
	 * @param version the version of the form, 0 to {@value #MAX_VERSION}
	 * @param content the content in that form
	 * @return the fingerprint
	 */
	public static byte[] of(int version, byte[] content) {
		return ByteBuffer.allocate(LENGTH).put((byte) version).put(IdempotencyKey.sha256().digest(content)).array();
	}

	/**
	 * Create the fingerprint of content in a canonical form that is only reported if it
	 * differs. It is compared with other such fingerprints only.
	 * @param version the version of the form, 0 to {@value #MAX_VERSION}
	 * @param content the content in that form
	 * @return the fingerprint
	 */
	public static byte[] ofReported(int version, byte[] content) {
		return of(REPORTED + version, content);
	}

	/**
	 * Return whether another content is a duplicate that is reported, instead of a record
	 * that is rejected.
	 * @param fingerprint the fingerprint, {@code null} if there is none
	 * @return whether {@link #ofReported} has created it
	 */
	public static boolean isReported(byte @Nullable [] fingerprint) {
		return fingerprint != null && fingerprint[0] >= REPORTED && fingerprint[0] < MESSAGE;
	}

	/**
	 * Create the fingerprint for the fingerprint header of a message, which the outbox
	 * adds to messages with derived keys. It is compared with other such fingerprints
	 * only.
	 * @param content the value of the header
	 * @return the fingerprint, with the highest version
	 */
	public static byte[] ofMessage(byte[] content) {
		return of(MESSAGE, content);
	}

	/**
	 * Return whether a fingerprint is that of a header.
	 * @param fingerprint the fingerprint, {@code null} if there is none
	 * @return whether {@link #ofMessage} has created it
	 */
	@Internal
	public static boolean isSent(byte @Nullable [] fingerprint) {
		return fingerprint != null && fingerprint[0] == MESSAGE;
	}

	/**
	 * Return the beginning of a digest as text for headers.
	 * @param content the content
	 * @param bytes the number of bytes of the digest, 1 to 32
	 * @return two hexadecimal digits for each of the bytes
	 */
	public static String text(byte[] content, int bytes) {
		return HexFormat.of().formatHex(of(content), 1, 1 + bytes);
	}

	/**
	 * Return whether a key is used for other content. Implementations of
	 * {@link IdempotencyStore} call it for completed keys and live claims only.
	 * @param key the key
	 * @param stored the fingerprint in the store, {@code null} if it has none
	 * @param requested the fingerprint of the request, {@code null} if it has none
	 * @return whether both fingerprints have the same version and differ, or the request
	 * has one that is {@linkplain #ofReported reported} and the store one that a producer
	 * has {@linkplain #ofMessage sent}
	 */
	public static boolean differs(IdempotencyKey key, byte @Nullable [] stored, byte @Nullable [] requested) {
		if (stored == null || requested == null || Arrays.equals(stored, requested)) {
			return false;
		}
		if (stored.length > 0 && requested.length > 0 && stored[0] != requested[0] && !isUnknown(stored, requested)) {
			notCompared(key);
			return false;
		}
		return true;
	}

	// A producer that sends a fingerprint with its record must not prevent the report of
	// a later record without one.
	private static boolean isUnknown(byte[] stored, byte[] requested) {
		return isSent(stored) && isReported(requested);
	}

	/**
	 * Log a warning, at most once per minute, that two fingerprints of a key were not
	 * compared because they have different versions. Stores that compare fingerprints on
	 * their server call this method.
	 * @param key the key
	 */
	public static void notCompared(IdempotencyKey key) {
		if (warnings.next("versions") >= 0) {
			logger.warn("The content of the " + key
					+ " was not compared, because its stored fingerprint and that of this "
					+ "application have different versions. The key alone decided. Records of the other version disappear "
					+ "at the end of their retention");
		}
	}

}
