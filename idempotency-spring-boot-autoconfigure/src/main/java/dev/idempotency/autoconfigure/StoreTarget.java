package dev.idempotency.autoconfigure;

import org.springframework.aop.framework.AopProxyUtils;

import dev.idempotency.migration.MigratingStore;
import dev.idempotency.store.IdempotencyStore;

/**
 * Finds the store behind proxies and migrations, whose class says what it needs: a
 * transaction manager for its database, or checks of its servers. A store may have a
 * proxy because of an aspect of the application, or because a test injects faults.
 */
final class StoreTarget {

	private StoreTarget() {
	}

	// Return the store that is written.
	static IdempotencyStore of(IdempotencyStore store) {
		return withoutProxies(MigratingStore.target(store));
	}

	static IdempotencyStore withoutProxies(IdempotencyStore store) {
		IdempotencyStore current = store;
		while (AopProxyUtils.getSingletonTarget(current) instanceof IdempotencyStore target) {
			current = target;
		}
		return current;
	}

}
