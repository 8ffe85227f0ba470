package dev.idempotency.template;

import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;

/**
 * The scopes whose completed operations are processed again, in this process.
 */
final class Bypass {

	private final Set<String> scopes = ConcurrentHashMap.newKeySet();

	boolean isOn(IdempotencyKey key) {
		return !this.scopes.isEmpty() && this.scopes.contains(key.scope());
	}

	boolean applies(Claim claim, IdempotencyKey key) {
		return claim instanceof Claim.Completed && isOn(key);
	}

	/**
	 * Turn it on or off.
	 * @param scope the scope
	 * @param on whether to turn it on
	 * @return whether that was news
	 */
	boolean turn(String scope, boolean on) {
		return on ? this.scopes.add(scope) : this.scopes.remove(scope);
	}

	Set<String> scopes() {
		return new TreeSet<>(this.scopes);
	}

}
