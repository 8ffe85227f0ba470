/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.template.StoreObserver.StoreCall;

/**
 * Notes what the store, the handlers and the deliveries of a schedule do, and reports
 * each event that the promises of the library exclude. Only one thread runs at a time, so
 * it needs no locks, which would be further decisions of the scheduler.
 */
final class History {

	private final Map<IdempotencyKey, KeyHistory> keys = new LinkedHashMap<>();

	private final Consumer<String> violations;

	private final StringBuilder trace = new StringBuilder();

	private int now;

	private boolean resultsMayBeMissing;

	History(Consumer<String> violations) {
		this.violations = violations;
	}

	int now() {
		return this.now;
	}

	String trace() {
		return this.trace.toString();
	}

	// A batch handler that fails at an item has returned no results for those before it.
	void allowMissingResults() {
		this.resultsMayBeMissing = true;
	}

	private int next(String event) {
		this.now++;
		this.trace.append("  ")
			.append(this.now)
			.append(' ')
			.append(Thread.currentThread().getName())
			.append(": ")
			.append(event)
			.append('\n');
		return this.now;
	}

	private void violation(IdempotencyKey key, String text) {
		next("VIOLATION " + text);
		this.violations.accept(key.value() + " " + text);
	}

	private KeyHistory of(IdempotencyKey key) {
		return this.keys.computeIfAbsent(key, (added) -> new KeyHistory());
	}

	void called(String process, StoreCall call, List<IdempotencyKey> keys, Fault fault) {
		next(process + " calls " + call + " of " + keys.stream().map(IdempotencyKey::value).toList()
				+ ((fault != Fault.NONE) ? " with " + fault : ""));
	}

	void claiming(ClaimRequest request, IdempotencyRecord before, Instant time) {
		if (before != null && before.state() == State.IN_PROGRESS && !before.isLive(time)) {
			excused(request.key());
		}
	}

	void acquired(String process, ClaimRequest request, Claim.Acquired acquired) {
		KeyHistory key = of(request.key());
		int number = next(process + " acquires " + request.key().value() + " with fence " + acquired.fence());
		key.claims.add(new SeenClaim(process, request.token(), acquired.fence(), number));
	}

	// Note that an owner may run an operation again, which has another live claim.
	void excused(IdempotencyKey key) {
		of(key).excused = next("another owner may have " + key.value());
	}

	void forgotten(IdempotencyKey key) {
		KeyHistory history = of(key);
		history.forgotten = next("the store forgets " + key.value());
		history.excused = history.forgotten;
	}

	void settled(StoreCall call, ClaimRequest claim, Settlement settlement, IdempotencyRecord before,
			IdempotencyRecord after) {
		KeyHistory key = of(claim.key());
		next(call + " of " + claim.key().value() + " is " + settlement);
		if (before != null && before.state() == State.COMPLETED
				&& (after == null || after.state() != State.COMPLETED)) {
			violation(claim.key(), "was completed and is not any more");
		}
		if (settlement != Settlement.SETTLED) {
			return;
		}
		SeenClaim seen = claim(key, claim);
		if (seen == null) {
			return;
		}
		if (call == StoreCall.COMPLETE && seen.isAnswered()) {
			violation(claim.key(), "is completed again, although the store has answered");
		}
		if (call == StoreCall.RELEASE) {
			seen.setRestored(false);
		}
		boolean excused = key.excused > seen.acquiredAt();
		boolean running = key.executions.stream().anyMatch((run) -> run.claim() == seen && run.isRunning());
		if (running && !excused) {
			violation(claim.key(), "is settled while its handler runs");
		}
		if (call == StoreCall.COMPLETE) {
			seen.complete();
			if (before.state() != State.COMPLETED) {
				key.completed = this.now;
			}
		}
		else {
			seen.release();
		}
	}

	void completionAnswered(ClaimRequest claim, Settlement settlement) {
		SeenClaim seen = claim(of(claim.key()), claim);
		if (seen != null && settlement == Settlement.SETTLED) {
			seen.answer();
		}
	}

	void restored(ClaimRequest claim, Settlement settlement, IdempotencyRecord before) {
		next("the claim of " + claim.key().value() + " is restored: " + settlement);
		SeenClaim seen = claim(of(claim.key()), claim);
		if (seen != null && before == null && seen.isAnswered()) {
			seen.setRestored(true);
		}
	}

	private static SeenClaim claim(KeyHistory key, ClaimRequest claim) {
		return key.claims.stream().filter((seen) -> seen.has(claim.token())).reduce((first, last) -> last).orElse(null);
	}

	Execution started(String process, IdempotencyKey id, int fence) {
		KeyHistory key = of(id);
		int started = next(process + " runs the handler of " + id.value() + " with fence " + fence);
		SeenClaim claim = key.claims.stream()
			.filter((seen) -> seen.isOf(process, fence))
			.reduce((first, last) -> last)
			.orElse(null);
		if (claim == null) {
			violation(id, "is processed without a claim");
			claim = new SeenClaim(process, Tokens.next(), fence, started);
		}
		// The claim is stale if another owner has been allowed to take the key over.
		if (key.excused <= claim.acquiredAt()) {
			checkStart(process, id, key, claim);
		}
		Execution execution = new Execution(process, process + "-" + started, claim);
		key.executions.add(execution);
		return execution;
	}

	private void checkStart(String process, IdempotencyKey id, KeyHistory key, SeenClaim claim) {
		if (claim.isReleased() || claim.isCompleted()) {
			violation(id, "is processed with a claim that was settled before");
		}
		for (Execution other : key.executions) {
			if (key.excused > other.claim().acquiredAt()) {
				continue;
			}
			if (other.isRunning()) {
				violation(id, "is processed by " + process + " while " + other + " runs");
			}
			else if (other.isEffective()) {
				violation(id, "is processed by " + process + " although " + other + " has taken effect");
			}
		}
	}

	void ended(IdempotencyKey id, Execution execution, boolean effective) {
		next(execution + " of " + id.value() + (effective ? " returns" : " fails"));
		execution.end(effective);
	}

	void undone(IdempotencyKey id) {
		next("the effect of " + id.value() + " is undone");
		List<Execution> executions = of(id).executions;
		if (!executions.isEmpty()) {
			executions.get(executions.size() - 1).undo();
		}
	}

	void reportedProcessed(IdempotencyKey id) {
		KeyHistory key = of(id);
		key.reported++;
		next(id.value() + " is reported as processed");
		if (key.reported > key.executions.size()) {
			violation(id, "is reported as processed more often than its handler has run");
		}
	}

	void processed(IdempotencyKey id, int begin) {
		KeyHistory key = of(id);
		key.acknowledged = next(id.value() + " is acknowledged");
		if (Math.max(key.completed, key.forgotten) < begin) {
			violation(id, "is acknowledged, but its completion is not recorded");
		}
	}

	void duplicate(String process, IdempotencyKey id, int begin, String result) {
		KeyHistory key = of(id);
		key.acknowledged = next(id.value() + " is a duplicate with the result " + result);
		if (key.completed == 0) {
			violation(id, "is a duplicate, but was never completed");
		}
		if (process.equals(key.evictedBy) && key.evictionAnswered < begin && key.completed < key.evicted) {
			violation(id, "is a duplicate, although it was evicted before");
		}
		boolean known = key.executions.stream().anyMatch((execution) -> execution.result().equals(result));
		if (!known && !(result == null && this.resultsMayBeMissing)) {
			violation(id, "is a duplicate with an unknown result: " + result);
		}
	}

	boolean isForgottenSince(IdempotencyKey id, int begin) {
		return of(id).forgotten > begin;
	}

	void note(String event) {
		next(event);
	}

	void evictionAnswered(String process, IdempotencyKey id) {
		KeyHistory key = of(id);
		key.evictedBy = process;
		key.evictionAnswered = next("the eviction of " + id.value() + " is answered");
		key.evicted = key.forgotten;
	}

	// What is acknowledged must be recorded, unless it was forgotten since.
	void checkEnd(SharedStore store) {
		this.keys.forEach((id, key) -> {
			IdempotencyRecord record = store.find(id);
			boolean completed = record != null && record.state() == State.COMPLETED;
			if (key.acknowledged != 0 && !completed && key.forgotten < key.acknowledged) {
				violation(id, "was acknowledged, but is not completed at the end: " + record);
			}
			if (key.claims.stream().anyMatch(SeenClaim::isRestored)) {
				violation(id, "was restored after it had ended, and not released");
			}
			if (record != null && record.state() == State.IN_PROGRESS) {
				violation(id, "is in progress at the end, although no handler runs");
			}
		});
	}

	// Each effect is recorded, or a line of the log names its key.
	void checkNamed(SharedStore store, List<String> log) {
		this.keys.forEach((id, key) -> {
			IdempotencyRecord record = store.find(id);
			boolean completed = record != null && record.state() == State.COMPLETED;
			boolean effective = key.executions.stream().anyMatch(Execution::isEffective);
			if (effective && !completed && key.forgotten < key.executions.get(0).claim().acquiredAt()
					&& log.stream().noneMatch((line) -> line.contains(id.value()))) {
				violation(id, "has taken effect, but is neither recorded nor named in the log");
			}
		});
	}

}
