/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.store;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.IdempotencyStore.Settlement;

/**
 * All states that two owners can reach with the keys of a store, whatever answers are
 * lost. Each owner has a task for each key: it claims the key, runs, renews, and settles
 * the claim. It may repeat each call whose answer is lost, or crash. Meanwhile time
 * passes, and the store may forget a key.
 */
final class Exploration {

	// Times are stored relative to the present.
	private static final Instant NOW = Instant.EPOCH;

	private static final Duration LEASE = Duration.ofSeconds(1);

	private static final Duration RETENTION = Duration.ofSeconds(2);

	private static final int OWNERS = 2;

	private static final String LOST = "no answer";

	private static final List<String> CALLS = List.of("claim", "repeated claim", "completion", "failure", "release",
			"renewal", "restoration");

	private final TransitionRules rules;

	private final int keys;

	private final List<@Nullable Long> versions;

	// The claims of each task.
	private final ClaimRequest[][][] requests;

	// The names of the calls by an owner with a key.
	private final String[][][] names;

	private final boolean forgets;

	private final Map<World, Visit> visited = new HashMap<>();

	private final Deque<World> open = new ArrayDeque<>();

	private @Nullable String problem;

	/**
	 * Create an exploration.
	 * @param rules the transitions
	 * @param keys the number of keys
	 * @param versions the versions of the claims that a task makes one after the other
	 * @param forgets whether the store may forget a key
	 */
	Exploration(TransitionRules rules, int keys, List<@Nullable Long> versions, boolean forgets) {
		this.rules = rules;
		this.keys = keys;
		this.versions = versions;
		this.forgets = forgets;
		this.names = new String[OWNERS][keys][CALLS.size()];
		this.requests = new ClaimRequest[OWNERS][keys][versions.size()];
		for (int owner = 0; owner < OWNERS; owner++) {
			for (int key = 0; key < keys; key++) {
				for (int i = 0; i < CALLS.size(); i++) {
					this.names[owner][key][i] = CALLS.get(i) + " of key " + key + " by owner " + owner;
				}
				for (int i = 0; i < versions.size(); i++) {
					this.requests[owner][key][i] = new ClaimRequest(IdempotencyKey.of("scope", "key" + key),
							new UUID(owner + 1L, key * 100L + i), null, LEASE, RETENTION, versions.get(i));
				}
			}
		}
	}

	/**
	 * Visit all states.
	 * @return the steps that lead to a violation, {@code null} if there is none
	 */
	@Nullable String run() {
		List<@Nullable StoredRecord> absent = new ArrayList<>();
		List<Task> idle = new ArrayList<>();
		for (int key = 0; key < this.keys; key++) {
			absent.add(null);
			for (int owner = 0; owner < OWNERS; owner++) {
				idle.add(Task.IDLE);
			}
		}
		reach(new World(absent, idle, 0), null, "start", "");
		while (this.problem == null && !this.open.isEmpty()) {
			expand(this.open.remove());
		}
		return this.problem;
	}

	int states() {
		return this.visited.size();
	}

	private void reach(World world, @Nullable World from, String step, Object answer) {
		if (this.visited.putIfAbsent(world, new Visit(from, step, answer)) == null) {
			this.open.add(world);
			for (int key = 0; key < this.keys; key++) {
				int number = key;
				long live = world.tasksOf(key, this.keys)
					.stream()
					.filter((task) -> task.phase == Phase.RUNNING && task.lease > 0)
					.count();
				require(live <= 1 || world.isForgotten(number), world, "two live owners of a key", key);
			}
		}
	}

	private void require(boolean condition, World world, String violation, Object... details) {
		if (!condition && this.problem == null) {
			List<String> steps = new ArrayList<>();
			for (World one = world; one != null; one = this.visited.get(one).from) {
				Visit visit = this.visited.get(one);
				steps.add(0, visit.step + " -> " + visit.answer);
			}
			this.problem = violation + " " + List.of(details) + " after " + steps;
		}
	}

	private void expand(World world) {
		reach(world.later(), world, "tick", "");
		for (int key = 0; key < this.keys; key++) {
			StoredRecord record = world.records.get(key);
			if (record != null && record.isExpired(NOW)) {
				reach(world.remembering(key, null).forgetting(key), world, "clean up of key", key);
			}
			if (record != null && this.forgets && !world.isForgotten(key)) {
				reach(world.remembering(key, null).forgetting(key), world, "loss of key", key);
			}
			for (int owner = 0; owner < OWNERS; owner++) {
				expand(world, owner, key);
			}
		}
	}

	private void expand(World world, int owner, int key) {
		int index = owner * this.keys + key;
		Task task = world.tasks.get(index);
		String[] names = this.names[owner][key];
		if (task.phase == Phase.IDLE && task.claims < this.versions.size()) {
			claim(world, index, key, task.in(Phase.ASKED), names[0]);
		}
		if (task.phase == Phase.ASKED) {
			claim(world, index, key, task.in(Phase.ASKED_AGAIN), names[1]);
		}
		if (task.phase != Phase.IDLE) {
			reach(world.with(index, task.idle()), world, "crash of owner", owner);
		}
		if (task.phase == Phase.RUNNING || task.phase == Phase.COMPLETING) {
			settle(world, index, key, task, Phase.COMPLETING, names[2],
					(call) -> this.rules.complete(call.record, call.request, NOW));
		}
		if (task.phase == Phase.RUNNING || task.phase == Phase.FAILING) {
			settle(world, index, key, task, Phase.FAILING, names[3],
					(call) -> this.rules.fail(call.record, call.request, NOW));
		}
		if (task.phase == Phase.RUNNING || task.phase == Phase.RELEASING) {
			settle(world, index, key, task, Phase.RELEASING, names[4],
					(call) -> this.rules.release(call.record, call.request, NOW));
		}
		if (task.phase == Phase.RUNNING || task.phase == Phase.COMPLETING) {
			// A completion that is pending keeps its lease.
			settle(world, index, key, task, task.phase, names[5],
					(call) -> this.rules.renew(call.record, call.request, NOW));
		}
		if (task.phase == Phase.FORGOTTEN) {
			settle(world, index, key, task, Phase.FORGOTTEN, names[6], (call) -> this.rules.restore(call.record,
					call.request, new Claim.Acquired(task.fence, task.attempt), NOW));
		}
	}

	private void claim(World world, int index, int key, Task task, String step) {
		StoredRecord record = world.records.get(key);
		Call call = new Call(record, request(index, task));
		Transition<Claim> transition = this.rules.claim(record, call.request, NOW);
		World changed = world.remembering(key, transition.next());
		boolean acquired = transition.answer() instanceof Claim.Acquired;
		reach(changed.with(index, task), world, step, LOST);
		require(acquired || transition.next() == record, world, "change without a claim", step);
		if (transition.answer() instanceof Claim.Acquired own) {
			checkAcquired(world, record, call, own, step);
			StoredRecord next = Objects.requireNonNull(transition.next());
			require(this.rules.claim(next, call.request, NOW).equals(transition), world, "repeated", step);
			reach(changed.with(index,
					new Task(Phase.RUNNING, task.claims, own.fence(), own.attempt(), LEASE.toSeconds())), world, step,
					own);
		}
		else {
			reach(changed.with(index, task.idle()), world, step, transition.answer());
		}
	}

	private void checkAcquired(World world, @Nullable StoredRecord record, Call call, Claim.Acquired own, String step) {
		boolean repeated = record != null && record.token().equals(call.request.token());
		boolean forgotten = world.isForgotten(this.requests[0][0][0].key().equals(call.request.key()) ? 0 : 1);
		require(own.attempt() > 0, world, "attempt", step);
		if (record == null) {
			return;
		}
		require(repeated ? own.fence() >= record.fence() : own.fence() > record.fence() || forgotten, world, "fence",
				step);
		boolean live = record.isLive(NOW) && !repeated;
		require(!live, world, "take-over of a live claim", step);
		if (record.isCompleted() && !record.isExpired(NOW)) {
			require(record.isBelow(call.request.version()), world, "completed key is acquired", step);
		}
		Long completed = record.completedVersion();
		if (!repeated && completed != null && call.request.version() != null
				&& !(record.isCompleted() && record.isExpired(NOW))) {
			require(call.request.version() > completed, world, "old version is acquired", step);
		}
	}

	private void settle(World world, int index, int key, Task task, Phase lost, String step,
			Function<Call, Transition<Settlement>> rule) {
		StoredRecord record = world.records.get(key);
		Call call = new Call(record, request(index, task));
		Transition<Settlement> transition = rule.apply(call);
		StoredRecord next = transition.next();
		World changed = world.remembering(key, next);
		Settlement answer = transition.answer();
		reach(changed.with(index, task.in(lost)), world, step, LOST);
		require(answer == Settlement.SETTLED || next == record, world, "change of a record", answer, step);
		if (record != null && answer == Settlement.SETTLED) {
			require(record.token().equals(call.request.token()), world, "settled for another owner", step);
		}
		if (record != null && record.isCompleted()) {
			require(next == record, world, "change of a completed key", step);
		}
		Transition<Settlement> again = rule.apply(new Call(next, call.request));
		require(again.equals(transition), world, "repeated", step, again.answer());
		if (step.startsWith("completion") && answer == Settlement.SETTLED) {
			require(next != null && next.isCompleted() && Objects.equals(call.request.version(), next.version()), world,
					"lost completion", step);
		}
		boolean goesOn = step.startsWith("renewal") || step.startsWith("restoration");
		Task then = switch (answer) {
			case SETTLED -> goesOn ? task.running() : task.idle();
			case LOST -> task.idle();
			case FORGOTTEN ->
				(lost == Phase.FAILING || lost == Phase.RELEASING) ? task.idle() : task.in(Phase.FORGOTTEN);
		};
		reach(changed.with(index, then), world, step, answer);
	}

	private ClaimRequest request(int index, Task task) {
		return this.requests[index / this.keys][index % this.keys][task.claims];
	}

	/**
	 * What an owner does with a key.
	 */
	private enum Phase {

		IDLE, ASKED, ASKED_AGAIN, RUNNING, COMPLETING, FAILING, RELEASING, FORGOTTEN

	}

	/**
	 * A task of an owner.
	 *
	 * @param phase what it does, or the call whose answer is lost
	 * @param claims the number of its claims that have ended
	 * @param fence the fence of its claim
	 * @param attempt the attempt of its claim
	 * @param lease the rest of the lease, by the calculation of the owner
	 */
	private record Task(Phase phase, int claims, int fence, int attempt, long lease) {

		private static final Task IDLE = new Task(Phase.IDLE, 0, 0, 0, 0);

		Task idle() {
			return new Task(Phase.IDLE, this.claims + 1, 0, 0, 0);
		}

		Task in(Phase other) {
			return new Task(other, this.claims, this.fence, this.attempt, (other == Phase.RUNNING) ? this.lease : 0);
		}

		Task later() {
			return new Task(this.phase, this.claims, this.fence, this.attempt, Math.max(0, this.lease - 1));
		}

		Task running() {
			return (this.phase == Phase.COMPLETING) ? this
					: new Task(Phase.RUNNING, this.claims, this.fence, this.attempt, LEASE.toSeconds());
		}

	}

	/**
	 * A state.
	 *
	 * @param records what the store remembers of each key
	 * @param tasks the tasks of the first owner, then those of the other one
	 * @param forgotten the keys that the store has forgotten, as a set of bits
	 */
	private record World(List<@Nullable StoredRecord> records, List<Task> tasks, int forgotten) {

		World remembering(int key, @Nullable StoredRecord record) {
			List<@Nullable StoredRecord> changed = new ArrayList<>(this.records);
			changed.set(key, (record != null) ? at(record, 0) : null);
			return new World(changed, this.tasks, this.forgotten);
		}

		World with(int index, Task task) {
			List<Task> changed = new ArrayList<>(this.tasks);
			changed.set(index, task);
			return new World(this.records, changed, this.forgotten);
		}

		World later() {
			List<@Nullable StoredRecord> changed = new ArrayList<>();
			this.records.forEach((record) -> changed.add((record != null) ? at(record, 1) : null));
			return new World(changed, this.tasks.stream().map(Task::later).toList(), this.forgotten);
		}

		// Only the rests of the lease and of the retention matter.
		private static StoredRecord at(StoredRecord record, long seconds) {
			return new StoredRecord(record.token(), record.state(), record.fence(), record.attempt(),
					record.fingerprint(), record.version(), record.completedVersion(), record.result(),
					record.failure(), rest(record.claimedUntil(), seconds), NOW, record.isCompleted() ? NOW : null,
					rest(record.expiresAt(), seconds));
		}

		private static Instant rest(Instant end, long seconds) {
			Instant rest = end.minusSeconds(seconds);
			return rest.isBefore(NOW) ? NOW : rest;
		}

		World forgetting(int key) {
			return new World(this.records, this.tasks, this.forgotten | (1 << key));
		}

		boolean isForgotten(int key) {
			return (this.forgotten & (1 << key)) != 0;
		}

		List<Task> tasksOf(int key, int keys) {
			List<Task> found = new ArrayList<>();
			for (int index = key; index < this.tasks.size(); index += keys) {
				found.add(this.tasks.get(index));
			}
			return found;
		}

	}

	private record Visit(@Nullable World from, String step, Object answer) {

	}

	private record Call(@Nullable StoredRecord record, ClaimRequest request) {

	}

}
