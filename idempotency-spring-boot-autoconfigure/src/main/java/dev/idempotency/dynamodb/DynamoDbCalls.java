/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.dynamodb;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiFunction;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.awscore.AwsRequestOverrideConfiguration;
import software.amazon.awssdk.core.exception.AbortedException;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.ConditionalCheckFailedException;
import software.amazon.awssdk.services.dynamodb.model.DeleteItemRequest;
import software.amazon.awssdk.services.dynamodb.model.GetItemResponse;
import software.amazon.awssdk.services.dynamodb.model.ScanRequest;
import software.amazon.awssdk.services.dynamodb.model.ScanResponse;
import software.amazon.awssdk.services.dynamodb.model.UpdateItemRequest;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.Threads;
import dev.idempotency.store.Deadline;

/**
 * Sends requests with a deadline. The requests for several keys are sent concurrently by
 * a few threads: a transaction of DynamoDB would be cancelled as a whole because of one
 * key that another owner has. The client is the blocking one, because that is the one
 * that applications have.
 *
 * @param client the client
 * @param table the name of the table
 * @param timeout the time limit of a call
 * @param executor sends the requests for several keys
 */
record DynamoDbCalls(DynamoDbClient client, String table, Duration timeout,
		ThreadPoolExecutor executor) implements AutoCloseable {

	// The number of concurrent requests for the keys of all calls.
	static final int CONCURRENCY = 16;

	// For a request that ends at its own deadline.
	private static final Duration GRACE = Duration.ofSeconds(1);

	DynamoDbCalls(DynamoDbClient client, String table, Duration timeout) {
		this(client, table, timeout, Threads.pool(Threads.named("dynamodb"), CONCURRENCY));
	}

	Deadline deadline() {
		return Deadline.after(this.timeout);
	}

	Update update(UpdateItemRequest request, Deadline deadline) {
		return change(deadline,
				(limit) -> this.client.updateItem(request.toBuilder().overrideConfiguration(limit).build())
					.attributes());
	}

	Update delete(DeleteItemRequest request, Deadline deadline) {
		return change(deadline,
				(limit) -> this.client.deleteItem(request.toBuilder().overrideConfiguration(limit).build())
					.attributes());
	}

	private Update change(Deadline deadline,
			Function<AwsRequestOverrideConfiguration, Map<String, AttributeValue>> request) {
		try {
			return new Update(true, new RecordItem(call(deadline, request)));
		}
		catch (ConditionalCheckFailedException ex) {
			return new Update(false, ex.hasItem() ? new RecordItem(ex.item()) : null);
		}
	}

	@Nullable RecordItem get(IdempotencyKey key, Deadline deadline) {
		GetItemResponse response = call(deadline,
				(limit) -> this.client.getItem((request) -> request.tableName(this.table)
					.key(RecordItem.key(key))
					.consistentRead(true)
					.overrideConfiguration(limit)));
		return response.hasItem() ? new RecordItem(response.item()) : null;
	}

	ScanResponse scan(ScanRequest request, Deadline deadline) {
		return call(deadline, (limit) -> this.client.scan(request.toBuilder().overrideConfiguration(limit).build()));
	}

	// A request that was interrupted is repeated, which changes nothing if it was
	// applied. Otherwise a handler that leaves its thread interrupted would lose its
	// completion.
	private <T> T call(Deadline deadline, Function<AwsRequestOverrideConfiguration, T> request) {
		boolean interrupted = Thread.interrupted();
		try {
			while (true) {
				long left = deadline.nanos() - System.nanoTime();
				if (left < TimeUnit.MILLISECONDS.toNanos(1)) {
					throw DynamoDbErrors.timeout(this.timeout, null);
				}
				AwsRequestOverrideConfiguration limit = AwsRequestOverrideConfiguration.builder()
					.apiCallTimeout(Duration.ofNanos(left))
					.build();
				try {
					return request.apply(limit);
				}
				catch (AbortedException ex) {
					interrupted |= Thread.interrupted();
				}
			}
		}
		catch (ConditionalCheckFailedException ex) {
			throw ex;
		}
		catch (SdkException ex) {
			throw DynamoDbErrors.blocked(ex, this.timeout);
		}
		finally {
			if (interrupted) {
				Thread.currentThread().interrupt();
			}
		}
	}

	// Apply a function to each element, at the same time if there are several. All
	// of them end before an exception is thrown.
	<E, R> List<R> all(List<E> elements, BiFunction<E, Deadline, R> function) {
		Deadline deadline = deadline();
		if (elements.size() <= 1) {
			return elements.stream().map((element) -> function.apply(element, deadline)).toList();
		}
		List<Future<R>> futures = new ArrayList<>(elements.size());
		for (E element : elements) {
			try {
				futures.add(this.executor.submit(() -> function.apply(element, deadline)));
			}
			catch (RejectedExecutionException ex) {
				throw new IdempotencyStoreUnavailableException("The DynamoDB store has been closed", ex);
			}
		}
		List<R> results = new ArrayList<>(elements.size());
		Deadline last = new Deadline(deadline.nanos() + GRACE.toNanos());
		RuntimeException failure = null;
		for (Future<R> future : futures) {
			try {
				results.add(await(future, last));
			}
			catch (RuntimeException ex) {
				// An outage concerns all keys, so it comes first.
				failure = (failure == null || (ex instanceof IdempotencyStoreUnavailableException
						&& !(failure instanceof IdempotencyStoreUnavailableException))) ? ex : failure;
			}
		}
		if (failure != null) {
			throw failure;
		}
		return results;
	}

	private <R> R await(Future<R> future, Deadline deadline) {
		try {
			return deadline.await(future);
		}
		catch (ExecutionException ex) {
			if (ex.getCause() instanceof RuntimeException exception) {
				throw exception;
			}
			throw new IllegalStateException(ex.getCause());
		}
		catch (TimeoutException ex) {
			future.cancel(true);
			throw DynamoDbErrors.timeout(this.timeout, ex);
		}
	}

	@Override
	public void close() {
		this.executor.shutdown();
	}

	/**
	 * The outcome of a conditional change.
	 *
	 * @param applied whether the condition held
	 * @param item the new item, or the present one if the condition failed; {@code null}
	 * if that one is absent
	 */
	record Update(boolean applied, @Nullable RecordItem item) {

	}

}
