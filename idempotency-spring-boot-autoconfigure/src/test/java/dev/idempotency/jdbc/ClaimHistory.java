package dev.idempotency.jdbc;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

import dev.idempotency.Claim;
import dev.idempotency.ClaimRequest;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.Settlement;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What happened to keys, on the clock of this JVM; reports only what is certain whatever
 * the time a call took.
 */
final class ClaimHistory {

	private final Queue<Owned> owned = new ConcurrentLinkedQueue<>();

	private final Queue<Answered> answered = new ConcurrentLinkedQueue<>();

	private final Map<IdempotencyKey, Completion> completions = new ConcurrentHashMap<>();

	private final Queue<String> violations = new ConcurrentLinkedQueue<>();

	Owned acquired(ClaimRequest request, int fence, long asked) {
		Owned owner = new Owned(request, fence, asked, System.nanoTime());
		this.owned.add(owner);
		return owner;
	}

	void answered(ClaimRequest request, Claim claim, long asked) {
		this.answered.add(new Answered(request.key(), claim, asked));
	}

	void settled(Owned owner, boolean completion, Settlement settlement, long asked) {
		long told = System.nanoTime();
		if (settlement == Settlement.SETTLED && completion) {
			this.completions.put(owner.request.key(), new Completion(owner.fence, told));
		}
		if (settlement == Settlement.LOST && told < owner.asked + owner.request.lease().toNanos()) {
			this.violations.add("Lost while alive: " + owner);
		}
		if (settlement == Settlement.SETTLED && this.owned.stream()
			.anyMatch((other) -> other.request.key().equals(owner.request.key()) && other.fence > owner.fence
					&& other.got < asked)) {
			this.violations.add("Settled by a zombie: " + owner);
		}
	}

	Map<IdempotencyKey, Completion> completions() {
		return this.completions;
	}

	void verify() {
		assertThat(this.violations).isEmpty();
		this.completions.forEach((key, completion) -> assertThat(this.answered).as("Answers after completion")
			.filteredOn((answer) -> answer.key.equals(key) && answer.asked > completion.told)
			.allMatch((answer) -> answer.claim instanceof Claim.Completed));
		List<IdempotencyKey> keys = this.owned.stream().map((owner) -> owner.request.key()).distinct().toList();
		keys.forEach((key) -> verify(this.owned.stream()
			.filter((owner) -> owner.request.key().equals(key))
			.sorted(Comparator.comparingInt((owner) -> owner.fence))
			.toList()));
	}

	private static void verify(List<Owned> owners) {
		List<Integer> fences = new ArrayList<>();
		for (int i = 0; i < owners.size(); i++) {
			fences.add(i + 1);
		}
		assertThat(owners).extracting((owner) -> owner.fence).as("Fences without gap").isEqualTo(fences);
		for (int i = 1; i < owners.size(); i++) {
			Owned earlier = owners.get(i - 1);
			Owned later = owners.get(i);
			assertThat(later.got).as("Fences grow with time").isGreaterThan(earlier.asked);
			long alive = Math.min(earlier.asked + earlier.request.lease().toNanos(), earlier.gaveUp);
			assertThat(later.got).as("%s acquired while %s lived", later, earlier).isGreaterThan(alive);
		}
	}

	/**
	 * One who acquired a key.
	 */
	static final class Owned {

		final ClaimRequest request;

		final int fence;

		private final long asked;

		private final long got;

		volatile long gaveUp = Long.MAX_VALUE;

		Owned(ClaimRequest request, int fence, long asked, long got) {
			this.request = request;
			this.fence = fence;
			this.asked = asked;
			this.got = got;
		}

		long age() {
			return System.nanoTime() - this.got;
		}

		@Override
		public String toString() {
			return this.request.key() + " fence " + this.fence;
		}

	}

	record Completion(int fence, long told) {

	}

	private record Answered(IdempotencyKey key, Claim claim, long asked) {

	}

}
