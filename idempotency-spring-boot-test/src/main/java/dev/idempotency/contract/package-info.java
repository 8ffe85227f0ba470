/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The contract of {@link dev.idempotency.store.IdempotencyStore} as tests. Extend
 * {@link dev.idempotency.contract.IdempotencyStoreContract}, or
 * {@link dev.idempotency.contract.TransactionalIdempotencyStoreContract}, and name the
 * store:
 *
 * <pre>
 * class MyStoreContractTests extends IdempotencyStoreContract {
 *
 *     private static final MyStore store = new MyStore(...);
 *
 *     &#64;Override
 *     public MyStore store() {
 *         return store;
 *     }
 *
 * }
 * </pre>
 *
 * The class path of the tests also needs {@code net.jqwik:jqwik}. The random sequences
 * run on the engine of jqwik, which knows neither the extensions nor the lifecycle of
 * Jupiter: create the store in a static initializer and leave it open. The kit makes keys
 * of its own in scopes that begin with {@code contract} and leaves them behind.
 */
package dev.idempotency.contract;
