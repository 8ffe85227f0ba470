package dev.idempotency.contract;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;

import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyStore.Settlement;

/**
 * The expected state of a key while no time passes. Answers are compared as text, so that
 * a difference is readable.
 */
final class Model {

	private ClaimRequest owner;

	private Known known;

	private int fence;

	private int attempt;

	String claim(ClaimRequest request) {
		if (this.known == null) {
			return acquiredWith("larger", 1);
		}
		if (!isFree() && !Arrays.equals(this.owner.fingerprint(), request.fingerprint())) {
			return "mismatch";
		}
		return switch (this.known) {
			case COMPLETED -> "completed with " + this.owner.token();
			case FAILED, RELEASED -> acquiredWith("larger", this.attempt + 1);
			case LIVE, EXPIRED -> isOwner(request) ? acquiredWith("same", this.attempt) : "in progress";
		};
	}

	String describe(Claim claim) {
		if (claim instanceof Claim.Acquired acquired) {
			int difference = Integer.compare(acquired.fence(), this.fence);
			return acquiredWith((difference > 0) ? "larger" : (difference < 0) ? "smaller" : "same",
					acquired.attempt());
		}
		if (claim instanceof Claim.Completed completed) {
			return "completed with " + ((completed.result() != null)
					? new String(completed.result(), StandardCharsets.UTF_8) : "nothing");
		}
		return (claim instanceof Claim.Mismatch) ? "mismatch" : "in progress";
	}

	private static String acquiredWith(String fence, int attempt) {
		return "acquired with the " + fence + " fence for attempt " + attempt;
	}

	void acquired(ClaimRequest request, Claim.Acquired claim) {
		this.owner = request;
		this.known = Known.LIVE;
		this.fence = claim.fence();
		this.attempt = claim.attempt();
	}

	Set<Settlement> settle(Mutation mutation, ClaimRequest request) {
		if (!isOwner(request)) {
			return EnumSet.of((this.known != null) ? Settlement.LOST : Settlement.FORGOTTEN);
		}
		Known wanted = switch (mutation) {
			case COMPLETE -> Known.COMPLETED;
			case FAIL -> Known.FAILED;
			case RELEASE -> Known.RELEASED;
			case RENEW -> Known.LIVE;
		};
		if (this.known == Known.LIVE) {
			this.known = wanted;
			this.attempt -= (wanted == Known.RELEASED) ? 1 : 0;
			return EnumSet.of(Settlement.SETTLED);
		}
		if (isFree() && (wanted == Known.FAILED || wanted == Known.RELEASED) && this.known != wanted) {
			return EnumSet.of(Settlement.SETTLED, Settlement.LOST);
		}
		return EnumSet.of((this.known == wanted) ? Settlement.SETTLED : Settlement.LOST);
	}

	boolean isFreedBy(ClaimRequest request) {
		return isFree() && isOwner(request);
	}

	private boolean isFree() {
		return this.known == Known.FAILED || this.known == Known.RELEASED;
	}

	private boolean isOwner(ClaimRequest request) {
		return this.owner != null && this.owner.token().equals(request.token());
	}

	String describe(Optional<IdempotencyRecord> record) {
		return record
			.map((found) -> describe(found.state() + ((found.failure() != null) ? " with a failure" : ""),
					found.fence(), found.attempt()))
			.orElse("nothing");
	}

	private static String describe(String state, int fence, int attempt) {
		return state + ", fence " + fence + ", attempt " + attempt;
	}

	@Override
	public String toString() {
		if (this.known == null) {
			return "nothing";
		}
		return describe(switch (this.known) {
			case LIVE, EXPIRED -> "IN_PROGRESS";
			case FAILED -> "FAILED with a failure";
			case RELEASED -> "FAILED";
			case COMPLETED -> "COMPLETED";
		}, this.fence, this.attempt);
	}

}
