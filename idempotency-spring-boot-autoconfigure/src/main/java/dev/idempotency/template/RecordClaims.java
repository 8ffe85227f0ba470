package dev.idempotency.template;

import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.store.TransactionalIdempotencyStore;
import dev.idempotency.template.StoreObserver.StoreCall;

/**
 * The claims of operations in transactional mode that are recognized by their keys: a
 * record that is inserted as completed, and visible when the transaction has committed.
 */
final class RecordClaims implements TransactionalClaims {

	private final Engine engine;

	private final TransactionalIdempotencyStore store;

	private final BatchRun run;

	private List<Item> asked = List.of();

	RecordClaims(Engine engine, TransactionalIdempotencyStore store, BatchRun run) {
		this.engine = engine;
		this.store = store;
		this.run = run;
	}

	@Override
	public void ask(List<Item> unanswered) {
		this.asked = StoreCalls.some(unanswered, (item) -> !item.hasPosition());
		this.asked.forEach(Item::newRequest);
	}

	@Override
	public boolean claim(boolean joined, boolean insert) {
		if (this.asked.isEmpty()) {
			return true;
		}
		// Most keys are new, but those with versions have records as a rule.
		List<Claim> claims = (insert && this.asked.stream().noneMatch(Item::isVersioned)) ? insert()
				: claim(this.asked, joined);
		if (claims.size() < this.asked.size()) {
			return false;
		}
		BatchPlan.setClaims(this.asked, claims);
		for (Item item : this.asked) {
			// In a joined transaction the completion itself may still be rolled back.
			if (!joined && item.claim() instanceof Claim.Completed completed) {
				this.engine.cache().add(item.operation(), completed.result());
			}
		}
		return true;
	}

	private List<Claim> insert() {
		return this.engine.calls()
			.callEachInTransaction(StoreCall.CLAIM, this.run.subject(this.asked), requests(this.asked),
					this.store::insert)
			.stream()
			.flatMap(Optional::stream)
			.toList();
	}

	private List<Claim> claim(List<Item> items, boolean joined) {
		return this.engine.calls()
			.callEachInTransaction(StoreCall.CLAIM, this.run.subject(items), requests(items),
					(part) -> this.store.claimInTransaction(part, joined));
	}

	@Override
	public boolean claimEach() {
		for (Item item : this.asked) {
			this.run.plan().claimOne(item, () -> claim(List.of(item), true).get(0));
			if (Transactions.isUncertain(item.claimFailure())) {
				return false;
			}
		}
		return true;
	}

	// Add what is stored for the items to their records.
	void store(List<Item> done) {
		List<Item> withResult = StoreCalls.some(recorded(done), (item) -> item.written() != null);
		this.engine.calls()
			.callEachInTransaction(StoreCall.COMPLETE, this.run.subject(done),
					StoreCalls.each(withResult, Item::completion), (part) -> {
						this.store.storeResults(part);
						return part;
					});
	}

	@Override
	public void completeWithoutEffect(List<Item> done) {
		List<Item> recorded = recorded(done);
		if (recorded.isEmpty()) {
			return;
		}
		if (!claim(recorded, false).stream().allMatch(Claim.Acquired.class::isInstance)) {
			throw Transactions.lost(false, this.run.subject(done), null);
		}
		store(recorded);
	}

	// The items that have a record.
	static List<Item> recorded(List<Item> items) {
		return StoreCalls.some(items, (item) -> item.isClaimed() && !item.hasPosition());
	}

	private static List<ClaimRequest> requests(List<Item> items) {
		return StoreCalls.each(items, Item::request);
	}

	@Override
	public Claimed claimed(List<Item> items) {
		List<Item> recorded = recorded(items);
		List<ClaimRequest> requests = requests(recorded);
		Object subject = recorded.isEmpty() ? "" : this.run.subject(recorded);
		return new Claimed() {

			@Override
			public boolean isEmpty() {
				return requests.isEmpty();
			}

			@Override
			public List<Item> fail(Throwable error) {
				Failure failure = RecordClaims.this.engine.results().failure(error);
				List<Settlement> answers = settle(StoreCall.FAIL, subject,
						StoreCalls.each(requests, (claim) -> new Ending.Failed(claim, failure)));
				return IntStream.range(0, answers.size())
					.filter((i) -> answers.get(i) != Settlement.SETTLED)
					.mapToObj(recorded::get)
					.toList();
			}

			// A duplicate may have added them to the cache.
			@Override
			public void undo() {
				RecordClaims.this.engine.cache().removeAll(requests.stream().map(ClaimRequest::key).toList());
				settle(StoreCall.RELEASE, subject, StoreCalls.each(requests, Ending.Released::new));
			}

		};
	}

	private List<Settlement> settle(StoreCall call, Object subject, List<Ending> endings) {
		return StoreCalls.inParts(endings, (part) -> this.engine.calls()
			.settle(call, subject, () -> StoreCalls.answers(part, this.store.settleAfterTransaction(part, List.of()))));
	}

}
