package dev.idempotency.template;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotentExecution;

/**
 * The claims of a batch, by the index of their part.
 */
final class OwnedClaims {

	private final Map<Integer, OwnedClaim> claims = new LinkedHashMap<>();

	void put(int part, OwnedClaim claim) {
		this.claims.put(part, claim);
	}

	@Nullable OwnedClaim get(int part) {
		return this.claims.get(part);
	}

	boolean isLost(int part) {
		return Objects.requireNonNull(this.claims.get(part)).execution().ownershipLost();
	}

	Collection<OwnedClaim> all() {
		return this.claims.values();
	}

	List<Integer> parts() {
		return List.copyOf(this.claims.keySet());
	}

	List<Integer> among(List<Integer> parts) {
		return parts.stream().filter(this.claims::containsKey).toList();
	}

	List<OwnedClaim> of(List<Integer> parts) {
		return parts.stream().map((part) -> Objects.requireNonNull(this.claims.get(part))).toList();
	}

	/**
	 * Leave claims to somebody else.
	 * @param parts their parts
	 * @return the claims
	 */
	List<OwnedClaim> take(List<Integer> parts) {
		return parts.stream().map((part) -> Objects.requireNonNull(this.claims.remove(part))).toList();
	}

	List<@Nullable IdempotentExecution> executions(List<Integer> parts) {
		List<@Nullable IdempotentExecution> executions = new ArrayList<>(parts.size());
		for (int part : parts) {
			OwnedClaim claim = this.claims.get(part);
			executions.add((claim != null) ? claim.execution() : null);
		}
		return executions;
	}

}
