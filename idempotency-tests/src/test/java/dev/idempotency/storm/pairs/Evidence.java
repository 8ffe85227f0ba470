/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm.pairs;

import java.util.List;
import java.util.Map;
import java.util.Optional;

import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.storm.pairs.Work.Call;
import dev.idempotency.storm.pairs.Work.Effect;
import dev.idempotency.template.OperationObserver.Outcome;

/**
 * What a trial has done.
 *
 * @param calls the calls of the method
 * @param effects the committed effects
 * @param nested the committed effects of the nested template
 * @param dead how often each record became a dead letter
 * @param replies the replies by the record to which they belong, for a batch by the
 * operation
 * @param messages the payloads of the published messages of the outbox
 * @param outcomes the outcomes of which observers were notified
 * @param meters the outcomes that the meters have counted
 * @param notStored the number of results that were not stored, by observer and meter
 * @param refused the number of calls that the store has refused
 * @param records the records of the store by operation
 * @param lag the number of records that are not committed
 */
record Evidence(List<Call> calls, List<Effect> effects, List<Effect> nested, Map<String, Long> dead,
		Map<String, List<String>> replies, List<String> messages, Map<Outcome, Long> outcomes,
		Map<Outcome, Long> meters, List<Integer> notStored, long refused,
		Map<String, Optional<IdempotencyRecord>> records, long lag) {

	long dead(Message message) {
		return this.dead.getOrDefault(message.uid(), 0L);
	}

	List<Call> calls(Message message) {
		return this.calls.stream().filter((call) -> call.message().uid().equals(message.uid())).toList();
	}

	List<Effect> effects(String operation) {
		return this.effects.stream().filter((effect) -> effect.operation().equals(operation)).toList();
	}

	boolean hasEffect(Message message) {
		return this.effects.stream().anyMatch((effect) -> effect.uid().equals(message.uid()));
	}

	long count(Outcome outcome) {
		return this.outcomes.getOrDefault(outcome, 0L);
	}

}
