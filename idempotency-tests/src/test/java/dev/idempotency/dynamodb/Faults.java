/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.dynamodb;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.awscore.retry.AwsRetryStrategy;
import software.amazon.awssdk.core.interceptor.Context;
import software.amazon.awssdk.core.interceptor.ExecutionAttributes;
import software.amazon.awssdk.core.interceptor.ExecutionInterceptor;
import software.amazon.awssdk.http.SdkHttpResponse;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;

import dev.idempotency.testsupport.TestDynamoDb;

/**
 * Replaces answers of the server by errors. The server has processed the requests.
 */
final class Faults implements ExecutionInterceptor {

	private static final int NO_LIMIT = Integer.MAX_VALUE;

	private final AtomicInteger attempts = new AtomicInteger();

	private final AtomicInteger remaining = new AtomicInteger();

	private volatile int status;

	private volatile @Nullable String code;

	DynamoDbClient client(TestDynamoDb dynamoDb) {
		return dynamoDb.server()
			.client()
			.overrideConfiguration((configuration) -> configuration.addExecutionInterceptor(this))
			.build();
	}

	DynamoDbClient clientWithoutRetries(TestDynamoDb dynamoDb) {
		return dynamoDb.server()
			.client()
			.overrideConfiguration((configuration) -> configuration.addExecutionInterceptor(this)
				.retryStrategy(AwsRetryStrategy.doNotRetry()))
			.build();
	}

	void loseAnswers(int count) {
		this.status = 500;
		this.code = "InternalServerError";
		this.remaining.set(count);
	}

	void answer(int httpStatus, String errorCode) {
		this.status = httpStatus;
		this.code = errorCode;
		this.remaining.set(NO_LIMIT);
	}

	void end() {
		this.remaining.set(0);
	}

	/**
	 * Return the number of HTTP requests since the last call of this method.
	 * @return the number, which includes the repetitions by the SDK
	 */
	int attempts() {
		return this.attempts.getAndSet(0);
	}

	@Override
	public SdkHttpResponse modifyHttpResponse(Context.ModifyHttpResponse context, ExecutionAttributes attributes) {
		this.attempts.incrementAndGet();
		return (this.remaining.get() > 0)
				? context.httpResponse().toBuilder().removeHeader("x-amz-crc32").statusCode(this.status).build()
				: context.httpResponse();
	}

	@Override
	public Optional<InputStream> modifyHttpResponseContent(Context.ModifyHttpResponse context,
			ExecutionAttributes attributes) {
		if (this.remaining.getAndUpdate((count) -> (count > 0 && count < NO_LIMIT) ? count - 1 : count) <= 0) {
			return context.responseBody();
		}
		// A connection whose answer is not read is not used again.
		context.responseBody().ifPresent(Faults::read);
		String body = "{\"__type\":\"com.amazonaws.dynamodb.v20120810#" + this.code + "\",\"message\":\"secret\"}";
		return Optional.of(new ByteArrayInputStream(body.getBytes(StandardCharsets.UTF_8)));
	}

	private static void read(InputStream body) {
		try (body) {
			body.readAllBytes();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
