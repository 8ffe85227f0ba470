/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.time.Duration;
import java.util.Objects;
import java.util.UUID;

import org.jspecify.annotations.Nullable;
import org.springframework.util.Assert;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Internal;
import dev.idempotency.Mode;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Fingerprint;

/**
 * A business operation that is to take effect once. {@link IdempotencyTemplate#operation}
 * describes one.
 *
 * @param key the key
 * @param name the name of the operation's listener, from a bounded set; used as a tag of
 * meters
 * @param origin the source of the operation, such as a record. Its text is part of error
 * messages and must not contain a payload. It is kept while a completion is pending
 * @param mode the mode of protection; not {@link Mode#AUTO}
 * @param fingerprint the {@link Fingerprint} of the content that the key stands for,
 * {@code null} to compare nothing
 * @param lease the time for which a claim lives without renewal; at least a millisecond
 * @param retention the time for which a completed key is remembered; longer than the
 * lease
 * @param position the position of the record if its offset decides whether the operation
 * has completed, in transactional mode; {@code null} if the key does
 * @param version the version of the operation, {@code null} if its key has no versions
 * @since 0.1.0
 */
public record IdempotentOperation(IdempotencyKey key, String name, Object origin, Mode mode,
		byte @Nullable [] fingerprint, Duration lease, Duration retention, @Internal @Nullable OffsetPosition position,
		@Internal @Nullable OperationVersion version) {

	@Internal
	public IdempotentOperation {
		Assert.notNull(key, "'key' must not be null");
		Assert.isTrue(mode != Mode.AUTO, "'mode' must not be AUTO");
		Assert.isTrue(fingerprint == null || fingerprint.length == Fingerprint.LENGTH,
				"'fingerprint' must be made by Fingerprint.of(...)");
		Assert.isTrue(lease.toMillis() > 0, "'lease' must be at least a millisecond");
		Assert.isTrue(retention.compareTo(lease) > 0, "'retention' must be longer than 'lease'");
		Assert.isTrue(position == null || mode == Mode.TRANSACTIONAL, "'position' needs transactional mode");
		Assert.isTrue(position == null || version == null, "'position' and 'version' exclude each other");
	}

	boolean isSameAs(IdempotentOperation other) {
		return this.key.equals(other.key) && Objects.equals(number(), other.number());
	}

	@Nullable Long number() {
		return (this.version != null) ? this.version.number() : null;
	}

	ClaimRequest newRequest() {
		return new ClaimRequest(this.key, UUID.randomUUID(), this.fingerprint, this.lease, this.retention, number());
	}

	@Override
	public String toString() {
		return this.key + " (" + this.origin + ")";
	}

	/**
	 * The code that an {@link IdempotencyTemplate} runs once per key.
	 *
	 * @param <T> the type of the result
	 * @param <E> the type of the exception that the handler throws
	 * @since 0.1.0
	 */
	@FunctionalInterface
	public interface Handler<T, E extends Throwable> {

		/**
		 * Process the operation.
		 * @return the result, or {@code null}
		 * @throws E if the operation fails
		 */
		@Nullable T handle() throws E;

	}

}
