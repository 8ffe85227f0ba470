/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.memory;

import dev.idempotency.contract.IdempotencyStoreContract;

/**
 * The contract test of a store of an application, as {@code docs/stores.md} shows it. It
 * is only compiled, because other tests run the contract for the stores of the library.
 */
abstract class MyStoreContract {

	abstract static class MyStoreContractTests extends IdempotencyStoreContract {

		private static final MyStore store = new MyStore();

		@Override
		public MyStore store() {
			return store;
		}

	}

	static class MyStore extends DelegatingStore {

	}

}
