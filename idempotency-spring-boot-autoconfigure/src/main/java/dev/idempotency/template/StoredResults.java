/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.util.unit.DataSize;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyKeyReusedException;
import dev.idempotency.IdempotencyResultUnreadableException;
import dev.idempotency.IdempotencyVersionStaleException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.StalePolicy;
import dev.idempotency.store.Claim;
import dev.idempotency.store.Failure;

/**
 * Writes results for the store and replays them for duplicates. The first results of each
 * listener and class are also read after they are written: a result that cannot be read
 * is reported with the record that it belongs to, not by the first duplicate.
 * <p>
 * All outcomes pass through here on their way to and from a store, so this is also the
 * place of the {@link StoredOutcomeTransformer}. Caches and pending completions hold the
 * bytes that are stored.
 */
final class StoredResults {

	private static final Log logger = LogFactory.getLog(StoredResults.class);

	// More than one, because a first result may be empty or contain null.
	private static final int CHECKS = 10;

	private static final int MAX_CLASSES = 100;

	private final DataSize maximumSize;

	private final @Nullable StoredOutcomeTransformer transformer;

	private final Observers observers;

	private final LocalClaims claims;

	private final Map<String, Map<Class<?>, ReadCheck>> listeners = new ConcurrentHashMap<>();

	StoredResults(DataSize maximumSize, @Nullable StoredOutcomeTransformer transformer, Observers observers,
			LocalClaims claims) {
		this.maximumSize = maximumSize;
		this.transformer = transformer;
		this.observers = observers;
		this.claims = claims;
	}

	// Convert a claim that was not acquired into a replayed result or an exception.
	IdempotentResult<Object> replay(IdempotentOperation operation, Claim claim, ResultCodec<?> codec) {
		if (claim instanceof Claim.Completed completed) {
			return new IdempotentResult<>(read(operation, completed.result(), codec), true);
		}
		if (claim instanceof Claim.InProgress inProgress) {
			// A handler that calls its own operation is blocked by itself. Its execution
			// ends with the exception, and an immediate redelivery would repeat that in a
			// loop.
			CompletionStage<?> ended = ClaimedExecution.isCurrent(operation.key()) ? null
					: this.claims.released(operation.key());
			throw new OperationInProgressException(operation
					+ " is being processed by another owner. The partition is paused and the record is redelivered "
					+ "until that claim completes, fails or expires", inProgress.retryAfter(), ended);
		}
		if (claim instanceof Claim.Stale stale) {
			return stale(operation, stale.completed());
		}
		throw new IdempotencyKeyReusedException("The idempotency key was already used with other content: " + operation
				+ ". Use a new key for each new operation in the producer");
	}

	// Skip an operation of which a higher version has completed, or reject it.
	static <T> IdempotentResult<T> stale(IdempotentOperation operation, long completed) {
		OperationVersion version = Objects.requireNonNull(operation.version());
		if (version.onStale() == StalePolicy.REJECT) {
			throw new IdempotencyVersionStaleException(
					"Version " + version.number() + " is stale, because version " + completed + " has completed: "
							+ operation + ". Discard the record, or send its content with a new version");
		}
		if (logger.isDebugEnabled()) {
			logger.debug("Version " + version.number() + " is skipped, because version " + completed
					+ " has completed: " + operation);
		}
		return IdempotentResult.ofStale();
	}

	private @Nullable Object read(IdempotentOperation operation, byte @Nullable [] result, ResultCodec<?> codec) {
		if (result == null || OutcomeMark.NOT_STORED.isOn(result)) {
			return null;
		}
		byte[] outcome = fromStored(operation.key(), operation, result);
		try {
			return Declined.read(outcome, codec);
		}
		catch (Throwable ex) {
			throw new IdempotencyResultUnreadableException(
					"The operation has completed, but its stored result of " + outcome.length
							+ " bytes cannot be read as the type that the handler declares: " + operation
							+ ". Correct the type so that the stored result can be read, and send the record again",
					ex);
		}
	}

	byte[] fromStored(IdempotencyKey key, Object subject, byte[] stored) {
		if (!OutcomeMark.TRANSFORMED.isOn(stored)) {
			return stored;
		}
		if (this.transformer == null) {
			throw new IdempotencyResultUnreadableException(
					"The operation has completed, but its stored outcome was transformed by a StoredOutcomeTransformer, "
							+ "and this application has none: " + subject
							+ ". Declare the bean with which the outcome was stored, and send the record again",
					new IllegalStateException("There is no StoredOutcomeTransformer"));
		}
		try {
			return this.transformer.fromStored(key, OutcomeMark.TRANSFORMED.remove(stored));
		}
		catch (Throwable ex) {
			throw new IdempotencyResultUnreadableException(
					"The operation has completed, but the StoredOutcomeTransformer cannot restore its stored outcome of "
							+ stored.length + " bytes: " + subject
							+ ". Correct the transformer, for example add the key that encrypted the outcome, and "
							+ "send the record again",
					ex);
		}
	}

	Failure failure(Throwable error) {
		if (this.transformer == null) {
			return Failure.of(error);
		}
		String message = null;
		try {
			message = this.transformer.failureMessage(error);
		}
		catch (Throwable ex) {
			logger.warn("The StoredOutcomeTransformer failed, so the message of a failure is not stored. "
					+ "Correct the method 'failureMessage'", ex);
		}
		return new Failure(error.getClass().getName(), message);
	}

	// The effect has happened: a completion without a result is better than a second
	// execution, and better than a rejection of the record.
	byte @Nullable [] write(IdempotentOperation operation, @Nullable Object result, ResultCodec<?> codec) {
		try {
			byte[] outcome = Declined.write(result, codec);
			byte[] bytes = (outcome != null) ? toStored(operation, result, outcome) : null;
			if (bytes != null && bytes.length > this.maximumSize.toBytes()) {
				return notStored(operation, result,
						"it has " + bytes.length + " bytes, more than 'idempotency.result.maximum-size' ("
								+ this.maximumSize.toBytes()
								+ "). Return a smaller result, such as a reference to it, or increase the property",
						null);
			}
			if (bytes != null && result != null) {
				checkReadable(operation, result, bytes, codec);
			}
			return bytes;
		}
		catch (Throwable ex) {
			return notStored(operation, result, "it cannot be written. Make the result type serializable"
					+ ((this.transformer != null) ? ", or correct the StoredOutcomeTransformer" : ""), ex);
		}
	}

	private byte[] notStored(IdempotentOperation operation, @Nullable Object result, String reason,
			@Nullable Throwable error) {
		logger.error("The result of " + operation + " cannot be stored, so its duplicates have no result: " + reason,
				error);
		this.observers.operation((observer) -> observer.resultNotStored(operation.name(), operation.key()));
		// A declined operation must not look like a processed one.
		return (result instanceof Declined) ? Declined.withoutContent() : OutcomeMark.NOT_STORED.on(new byte[0]);
	}

	private byte @Nullable [] toStored(IdempotentOperation operation, @Nullable Object result, byte[] outcome) {
		if (this.transformer == null) {
			return outcome;
		}
		byte[] stored;
		try {
			// The transformer may change its argument.
			stored = this.transformer.toStored(operation.key(), outcome.clone());
		}
		catch (Throwable ex) {
			throw new IllegalStateException("The StoredOutcomeTransformer cannot transform the outcome of " + operation
					+ ". Correct the transformer", ex);
		}
		if (stored == null) {
			return (result instanceof Declined) ? Declined.withoutContent() : null;
		}
		return Arrays.equals(stored, outcome) ? outcome : OutcomeMark.TRANSFORMED.on(stored);
	}

	// The bytes are stored in any case: the effect counts, and a corrected type or
	// transformer can read them.
	private void checkReadable(IdempotentOperation operation, Object result, byte[] bytes, ResultCodec<?> codec) {
		ReadCheck check = find(operation.name(), result.getClass());
		if (check == null || check.remaining.get() <= 0 || check.remaining.getAndDecrement() <= 0) {
			return;
		}
		try {
			Declined.read(fromStored(operation.key(), operation, bytes), codec);
		}
		catch (Throwable ex) {
			if (check.failed.compareAndSet(false, true)) {
				boolean restored = !(ex instanceof IdempotencyResultUnreadableException);
				IdempotencyResultUnreadableException unreadable = new IdempotencyResultUnreadableException(
						"The result of " + operation
								+ " can be stored but not read back, so duplicates of this and of similar operations are "
								+ "rejected and passed to the recoverer instead of suppressed. "
								+ (restored ? "Correct the result type or the types that it contains, here in "
										+ result.getClass().getName() : "Correct the StoredOutcomeTransformer"),
						(restored || ex.getCause() == null) ? ex : ex.getCause());
				logger.error(unreadable.getMessage(), unreadable.getCause());
			}
		}
	}

	private @Nullable ReadCheck find(String listener, Class<?> type) {
		Map<Class<?>, ReadCheck> types = this.listeners.computeIfAbsent(listener, (name) -> new ConcurrentHashMap<>());
		ReadCheck check = types.get(type);
		if (check == null && types.size() < MAX_CLASSES) {
			check = types.computeIfAbsent(type, (any) -> new ReadCheck());
		}
		return check;
	}

	/**
	 * The number of results of one listener and class that are still to be checked, and
	 * whether a check has failed.
	 */
	private static final class ReadCheck {

		private final AtomicInteger remaining = new AtomicInteger(CHECKS);

		private final AtomicBoolean failed = new AtomicBoolean();

	}

}
