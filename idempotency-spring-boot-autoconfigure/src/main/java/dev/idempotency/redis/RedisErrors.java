/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.redis;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisCommandTimeoutException;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyRecordUnreadableException;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationBlockedException;

/**
 * Translates errors of Redis and Lettuce into the exceptions of the store SPI.
 */
final class RedisErrors {

	// These errors affect every command, or every write, until the server recovers, the
	// client finds another server or the user may log in.
	private static final Set<String> OUTAGE = Set.of("OOM", "READONLY", "MISCONF", "NOREPLICAS", "LOADING",
			"MASTERDOWN", "BUSY", "CLUSTERDOWN", "MOVED", "ASK", "TRYAGAIN", "NOAUTH", "WRONGPASS", "NOPROTO");

	// The scripts return this error for a value that is not a record.
	private static final String UNREADABLE = "UNREADABLE";

	private static final Pattern CODE = Pattern
		.compile("\\b(" + String.join("|", OUTAGE) + "|NOPERM|NOSCRIPT|WRONGTYPE)\\b");

	private RedisErrors() {
	}

	static OperationBlockedException blocked(Exception error, Duration timeout) {
		Throwable cause = cause(error);
		if (isTimeout(error)) {
			return new IdempotencyStoreUnavailableException("Redis did not answer within " + timeout, cause);
		}
		if (cause instanceof RedisCommandExecutionException) {
			String code = code(cause);
			String refused = "Redis refused the command (" + code + ")";
			return OUTAGE.contains(code) ? new IdempotencyStoreUnavailableException(refused, code, cause)
					: new IdempotencyStoreRefusedException(refused, code, cause);
		}
		return new IdempotencyStoreUnavailableException("Redis cannot be reached", cause);
	}

	static boolean isTimeout(Exception error) {
		Throwable cause = cause(error);
		return cause instanceof TimeoutException || cause instanceof RedisCommandTimeoutException;
	}

	private static Throwable cause(Exception error) {
		return (error instanceof ExecutionException && error.getCause() != null) ? error.getCause() : error;
	}

	// Only the code is kept, because the rest of the message may quote values. In
	// an error from inside a script, the code is not the first word.
	private static String code(Throwable refusal) {
		Matcher code = CODE.matcher(String.valueOf(refusal.getMessage()));
		return code.find() ? code.group() : "ERR";
	}

	static boolean isUnreadable(@Nullable Throwable error) {
		return error instanceof RedisCommandExecutionException && error.getMessage() != null
				&& (error.getMessage().contains("WRONGTYPE") || error.getMessage().contains(UNREADABLE));
	}

	static IdempotencyRecordUnreadableException unreadable(String key, @Nullable Throwable cause) {
		return new IdempotencyRecordUnreadableException("The value of the Redis key '" + key
				+ "' is not an idempotency record of this version. Check the value, and delete the key if no other "
				+ "application uses it", cause);
	}

}
