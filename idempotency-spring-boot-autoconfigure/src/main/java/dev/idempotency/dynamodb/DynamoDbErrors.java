/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.dynamodb;

import java.time.Duration;
import java.util.Set;

import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.awscore.exception.AwsErrorDetails;
import software.amazon.awssdk.awscore.exception.AwsServiceException;
import software.amazon.awssdk.core.exception.AbortedException;
import software.amazon.awssdk.core.exception.ApiCallAttemptTimeoutException;
import software.amazon.awssdk.core.exception.ApiCallTimeoutException;
import software.amazon.awssdk.core.exception.SdkException;

import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationBlockedException;

/**
 * Translates errors of the AWS SDK into the exceptions of the store SPI. The messages of
 * DynamoDB may quote values, so only its error codes are kept.
 */
final class DynamoDbErrors {

	// These errors affect every request until the Regions agree or the credentials are
	// renewed. The SDK knows those of throttling and of clocks that differ.
	private static final Set<String> OUTAGE = Set.of("ReplicatedWriteConflictException", "ExpiredTokenException",
			"ExpiredToken", "UnrecognizedClientException", "InvalidSignatureException", "IncompleteSignatureException",
			"MissingAuthenticationTokenException", "InvalidClientTokenId");

	private static final int SERVER_ERROR = 500;

	private DynamoDbErrors() {
	}

	static OperationBlockedException blocked(SdkException error, Duration timeout) {
		if (error instanceof ApiCallTimeoutException || error instanceof ApiCallAttemptTimeoutException
				|| error instanceof AbortedException) {
			return timeout(timeout, error);
		}
		if (error instanceof AwsServiceException refusal) {
			String code = code(refusal);
			String refused = "DynamoDB refused the request (" + code + ")";
			boolean outage = OUTAGE.contains(code) || refusal.statusCode() >= SERVER_ERROR
					|| refusal.isThrottlingException() || refusal.isClockSkewException();
			return outage ? new IdempotencyStoreUnavailableException(refused, code, error)
					: new IdempotencyStoreRefusedException(refused, code, error);
		}
		return new IdempotencyStoreUnavailableException("DynamoDB cannot be reached", error);
	}

	static IdempotencyStoreUnavailableException timeout(Duration timeout, @Nullable Throwable cause) {
		return new IdempotencyStoreUnavailableException("DynamoDB did not answer within " + timeout, cause);
	}

	static String code(AwsServiceException refusal) {
		AwsErrorDetails details = refusal.awsErrorDetails();
		return (details != null && details.errorCode() != null) ? details.errorCode()
				: "status " + refusal.statusCode();
	}

}
