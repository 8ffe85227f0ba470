/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;

import dev.idempotency.ExceptionCauses;
import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyFingerprintUnusableException;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyKeyMissingException;
import dev.idempotency.Internal;
import dev.idempotency.Mode;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.OperationRejectedException;
import dev.idempotency.StalePolicy;
import dev.idempotency.template.IdempotentOperation.Handler;

/**
 * The description of one operation of an {@link IdempotencyTemplate}. Values that are not
 * set are the {@link Defaults} of the template.
 *
 * @since 0.1.0
 * @see IdempotencyTemplate#operation
 */
public final class OperationSpec {

	private final IdempotencyTemplate template;

	private final Defaults defaults;

	private final String name;

	private final String key;

	private String scope;

	private Object origin;

	private Mode mode;

	private byte @Nullable [] fingerprint;

	private Duration lease;

	private @Nullable Duration retention;

	private @Nullable OperationVersion version;

	OperationSpec(IdempotencyTemplate template, Defaults defaults, String name, @Nullable String key) {
		String problem = (key != null) ? IdempotencyKey.problem(key) : "is missing";
		if (problem != null) {
			throw new IdempotencyKeyMissingException("The idempotency key of the operation '" + name + "' " + problem
					+ ". Choose a key that identifies the operation.", null);
		}
		this.template = template;
		this.defaults = defaults;
		this.name = name;
		this.key = Objects.requireNonNull(key);
		this.scope = name;
		this.origin = name;
		this.mode = defaults.mode();
		this.lease = defaults.lease();
	}

	/**
	 * Set the scope: the same key in two scopes is two operations.
	 * @param scope the scope, by default the name of the operation. The scope of a key
	 * that a client chooses contains the client
	 * @return this description
	 */
	public OperationSpec scope(String scope) {
		this.scope = scope;
		return this;
	}

	/**
	 * Set the source of the operation for messages and log lines.
	 * @param origin the source, by default the name of the operation. Its text must not
	 * contain a payload. It is kept while a completion is pending
	 * @return this description
	 */
	public OperationSpec origin(Object origin) {
		this.origin = origin;
		return this;
	}

	/**
	 * Set the mode.
	 * @param mode the mode. {@link Mode#AUTO} is transactional if the template supports
	 * transactions, else leased; for an asynchronous operation always leased
	 * @return this description
	 */
	public OperationSpec mode(Mode mode) {
		this.mode = mode;
		return this;
	}

	/**
	 * Set the content for which the key stands. The same key with other content is then
	 * rejected.
	 * @param content the content
	 * @return this description
	 * @throws IdempotencyFingerprintUnusableException if the content cannot be serialized
	 */
	public OperationSpec content(@Nullable Object content) {
		Serialization serialization = serialization();
		try {
			this.fingerprint = serialization.fingerprint(content);
		}
		catch (Throwable ex) {
			if (!ExceptionCauses.mayBeOfContent(ex)) {
				throw ex;
			}
			throw new IdempotencyFingerprintUnusableException("The content of the operation '" + this.name + "', "
					+ ((content != null) ? "a " + content.getClass().getName() : "null")
					+ ", cannot be serialized. Use values that can be written as JSON.", ex);
		}
		return this;
	}

	/**
	 * Set the time for which a claim lives without renewal, in leased mode.
	 * @param lease the lease, at least a millisecond
	 * @return this description
	 */
	public OperationSpec lease(Duration lease) {
		this.lease = lease;
		return this;
	}

	/**
	 * Set the time for which the completed key is remembered, counted from its claim.
	 * @param retention the retention, longer than the lease
	 * @return this description
	 */
	public OperationSpec retention(Duration retention) {
		this.retention = retention;
		return this;
	}

	/**
	 * Set the version: the operation runs only if no version of its key that is equal or
	 * higher has completed. A lower version is skipped.
	 * @param number the version
	 * @return this description
	 */
	public OperationSpec version(long number) {
		return version(number, StalePolicy.SKIP);
	}

	/**
	 * Set the version: the operation runs only if no version of its key that is equal or
	 * higher has completed.
	 * @param number the version
	 * @param onStale the reaction if a higher version has completed
	 * @return this description
	 */
	public OperationSpec version(long number, StalePolicy onStale) {
		this.version = new OperationVersion(number, onStale);
		return this;
	}

	/**
	 * Run the operation, and store its result as JSON, or as the application's
	 * {@link Serialization} does.
	 * @param type the type of the result
	 * @param handler the handler
	 * @param <T> the type of the result
	 * @param <E> the type of the exception that the handler throws
	 * @return the result of this or of the first execution
	 * @throws E if the handler throws it
	 * @throws OperationDeclinedException if this or the first execution has declined the
	 * operation for good
	 * @throws OperationBlockedException if the operation can neither be run nor skipped
	 * now
	 * @throws OperationRejectedException if the operation can never be run
	 */
	public <T, E extends Throwable> IdempotentResult<T> execute(Class<T> type, Handler<T, E> handler) throws E {
		return this.template.execute(build(), this.template.codec(type, serialization()), handler);
	}

	/**
	 * Run the operation without a result.
	 * @param handler the handler
	 * @return whether the operation had completed before
	 * @throws OperationDeclinedException if this or the first execution has declined the
	 * operation for good
	 * @throws OperationBlockedException if the operation can neither be run nor skipped
	 * now
	 * @throws OperationRejectedException if the operation can never be run
	 */
	public IdempotentResult<Void> execute(Runnable handler) {
		return this.template.execute(build(), ResultCodec.none(), () -> {
			handler.run();
			return null;
		});
	}

	/**
	 * Run the operation asynchronously, as
	 * {@link IdempotencyTemplate#executeAsync(IdempotentOperation, ResultCodec, Handler)}
	 * does.
	 * @param type the type of the result
	 * @param handler the handler
	 * @param <T> the type of the result
	 * @param <E> the type of the exception that the handler throws
	 * @return the result of this or of the first execution
	 * @throws E if the handler throws it before it returns a stage
	 */
	public <T, E extends Throwable> CompletableFuture<IdempotentResult<T>> executeAsync(Class<T> type,
			Handler<CompletionStage<T>, E> handler) throws E {
		if (this.mode == Mode.AUTO) {
			this.mode = Mode.LEASED;
		}
		return this.template.executeAsync(build(), this.template.codec(type, serialization()), handler);
	}

	/**
	 * Build the operation, for the methods of the template that take operations.
	 * @return the operation
	 */
	public IdempotentOperation build() {
		Mode automatic = this.template.supportsTransactions() ? Mode.TRANSACTIONAL : Mode.LEASED;
		Duration automaticRetention = (this.version != null) ? this.defaults.versionRetention()
				: this.defaults.retention();
		return new IdempotentOperation(IdempotencyKey.of(this.scope, this.key), this.name, this.origin,
				(this.mode != Mode.AUTO) ? this.mode : automatic, this.fingerprint, this.lease,
				(this.retention != null) ? this.retention : automaticRetention, null, this.version);
	}

	private Serialization serialization() {
		Serialization serialization = this.defaults.serialization().get();
		if (serialization == null) {
			throw new IdempotencyConfigurationException(
					"The operation '" + this.name + "' has content or a result, but its template has no Serialization.",
					"Add 'spring-boot-starter-jackson', declare a Serialization bean, or use the template that the "
							+ "starter creates.");
		}
		return serialization;
	}

	/**
	 * The values of operations that do not set them.
	 *
	 * @param mode the mode
	 * @param lease the lease of a claim
	 * @param retention the retention of a completed key
	 * @param versionRetention the retention of the versions of a key
	 * @param serialization supplies the serialization of contents and results,
	 * {@code null} if there is none
	 * @since 0.1.0
	 */
	@Internal
	public record Defaults(Mode mode, Duration lease, Duration retention, Duration versionRetention,
			Supplier<@Nullable Serialization> serialization) {

		/**
		 * The defaults of the properties, without a serialization.
		 */
		public static final Defaults STANDARD = new Defaults(Mode.AUTO, Duration.ofSeconds(30), Duration.ofDays(7),
				Duration.ofDays(36500), () -> null);

	}

}
