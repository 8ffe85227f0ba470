/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyResultUnreadableException;

/**
 * Transforms outcomes before they are stored, and restores them before they are replayed.
 * An application encrypts or drops outcomes with it, for example because they contain
 * personal data. It declares one bean of this type, which applies to all stores, to
 * listeners and to the {@link IdempotencyTemplate}.
 * <p>
 * An outcome is the result of a handler, the reason and the body of a decline, or the
 * message of a failure. Not included are keys and scopes, the payloads of the outbox, and
 * log lines.
 * <p>
 * The methods are called by many threads, inside of the transaction or the lease of the
 * operation. They must be thread-safe and must not wait for a remote service.
 * <p>
 * The store also keeps whether an outcome was transformed. Outcomes that were stored
 * before the bean was declared are replayed as they are. A process without the bean
 * cannot read transformed outcomes: their duplicates fail with
 * {@link IdempotencyResultUnreadableException}. The transformation itself has to keep
 * what it needs to read older outcomes, such as the name of an encryption key.
 *
 * @since 0.1.0
 */
public interface StoredOutcomeTransformer {

	/**
	 * Transform an outcome before it is stored.
	 * <p>
	 * If the method throws an exception, the operation completes without the outcome, an
	 * error is logged, and its duplicates have no result.
	 * @param key the key of the operation
	 * @param outcome the serialized result, or a serialized decline with its reason and
	 * body
	 * @return the bytes to store, which count for
	 * {@code idempotency.result.maximum-size}; bytes equal to the outcome to store it as
	 * it is; {@code null} to drop it. Duplicates then have no result, and those of a
	 * declined operation are declined without its reason and body
	 */
	byte @Nullable [] toStored(IdempotencyKey key, byte[] outcome);

	/**
	 * Restore an outcome for a duplicate, or for the endpoint if that may show values.
	 * The first outcomes of each listener are also restored right after they were
	 * transformed, so that an error is logged before there is a duplicate.
	 * <p>
	 * If the method throws an exception, the duplicate fails with
	 * {@link IdempotencyResultUnreadableException} and is not processed again.
	 * @param key the key of the operation
	 * @param stored the bytes that {@link #toStored} returned, in this or in another
	 * process
	 * @return the outcome
	 */
	byte[] fromStored(IdempotencyKey key, byte[] stored);

	/**
	 * Return the message of a failure that is stored, for operators. It is cut to 500
	 * characters. The class name of the error is always stored. The default is to store
	 * no message, because it may quote personal data.
	 * <p>
	 * If the method throws an exception, no message is stored and a warning is logged.
	 * @param error the exception with which the handler failed
	 * @return the text to store, {@code null} for none
	 */
	default @Nullable String failureMessage(Throwable error) {
		return null;
	}

}
