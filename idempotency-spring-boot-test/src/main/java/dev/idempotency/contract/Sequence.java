/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.contract.Step.Call;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.IdempotencyStore.Settlement;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * A sequence of calls of a store. The answer of each call is compared with a model.
 */
final class Sequence {

	private final IdempotencyStore store;

	private final List<IdempotencyKey> keys = Stream.generate(Requests::newKey).limit(2).toList();

	private final List<Model> models = List.of(new Model(), new Model());

	private final ClaimRequest[][] acquired = new ClaimRequest[2][3];

	private final List<String> done = new ArrayList<>();

	Sequence(IdempotencyStore store) {
		this.store = store;
	}

	void perform(Step step) {
		Model model = this.models.get(step.key());
		ClaimRequest earlier = this.acquired[step.key()][step.owner()];
		switch (step.call()) {
			case CLAIM, CLAIM_WITH_OTHER_CONTENT -> claim(step, model, request(step));
			case REPEAT_CLAIM_OF -> {
				if (earlier != null) {
					claim(step, model, earlier);
				}
			}
			default -> settle(step, model, (earlier != null) ? earlier : request(step));
		}
		assertThat(model.describe(one(this.store).find(this.keys.get(step.key())))).as("Record after %s", this.done)
			.isEqualTo(model.toString());
	}

	// Key 0 has content, key 1 has none.
	private ClaimRequest request(Step step) {
		String content = (step.call() == Call.CLAIM_WITH_OTHER_CONTENT) ? "other" : "content";
		return Requests.request(this.keys.get(step.key()), (step.key() == 0) ? content : null, Requests.LEASE,
				Requests.RETENTION);
	}

	private void claim(Step step, Model model, ClaimRequest request) {
		Claim claim = one(this.store).claim(request);
		String answer = model.describe(claim);
		this.done.add(step + " -> " + answer);
		assertThat(answer).as("Last answer of %s", this.done).isEqualTo(model.claim(request));
		if (claim instanceof Claim.Acquired owned) {
			model.acquired(request, owned);
			this.acquired[step.key()][step.owner()] = request;
		}
	}

	private void settle(Step step, Model model, ClaimRequest request) {
		Mutation mutation = Mutation.valueOf(step.call().name());
		Settlement settlement = mutation.apply(this.store, request);
		this.done.add(step + " -> " + settlement);
		assertThat(settlement).as("Last answer of %s", this.done).isEqualTo(model.settle(mutation, request));
	}

}
