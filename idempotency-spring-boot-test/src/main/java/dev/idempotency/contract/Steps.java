/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.util.Collections;
import java.util.List;

import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ArbitrarySupplier;
import net.jqwik.api.Combinators;
import net.jqwik.api.Tuple;

import dev.idempotency.contract.Step.Call;

/**
 * Generates sequences of calls by three owners for two keys. Some calls are repeated.
 */
final class Steps implements ArbitrarySupplier<List<Step>> {

	@Override
	public Arbitrary<List<Step>> get() {
		Arbitrary<Integer> owner = Arbitraries.integers().between(0, 2);
		Arbitrary<Integer> key = Arbitraries.integers().between(0, 1);
		Arbitrary<Call> call = Arbitraries.frequency(Tuple.of(6, Call.CLAIM),
				Tuple.of(1, Call.CLAIM_WITH_OTHER_CONTENT), Tuple.of(2, Call.REPEAT_CLAIM_OF),
				Tuple.of(1, Call.COMPLETE), Tuple.of(3, Call.FAIL), Tuple.of(3, Call.RELEASE), Tuple.of(2, Call.RENEW));
		Arbitrary<Integer> times = Arbitraries.frequency(Tuple.of(3, 1), Tuple.of(1, 2));
		return Combinators.combine(owner, call, key, times)
			.as((who, what, which, often) -> Collections.nCopies(often, new Step(who, what, which)))
			.list()
			.ofMinSize(1)
			.ofMaxSize(20)
			.map((repeated) -> repeated.stream().flatMap(List::stream).toList());
	}

}
