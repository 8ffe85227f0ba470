/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import dev.idempotency.store.IdempotencyStore;

/**
 * The store of a template and the objects that all parts of the template use with it.
 *
 * @param store the store
 * @param calls the calls of the store
 * @param cache the completed operations that are known in this process
 * @param claims the claims whose leases this process renews
 * @param results writes and reads the stored results
 * @param otherContents reports duplicates with other content
 * @param observers the observers to notify
 * @param contexts the contexts to open around operations
 */
record Engine(IdempotencyStore store, StoreCalls calls, LocalCompletions cache, LocalClaims claims,
		StoredResults results, OtherContents otherContents, Observers observers, OperationContexts contexts) {

}
