package dev.idempotency;

/**
 * A claim of leased mode whose handler runs or has run.
 *
 * @param operation what was claimed
 * @param request the request that acquired the key
 * @param execution what the handler sees
 */
record OwnedClaim(IdempotentOperation operation, ClaimRequest request, IdempotentExecution execution) {

	OwnershipLostException lost(Throwable... cause) {
		this.execution.loseOwnership();
		return new OwnershipLostException("The claim ran out while the handler ran, and somebody else has the key now, "
				+ "or the store has forgotten it: " + this.operation
				+ "; nothing of this execution is recorded. If the "
				+ "process or the store stood still for longer than the lease of " + this.operation.lease()
				+ ", make it longer than that", (cause.length > 0) ? cause[0] : null);
	}

}
