/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.util.List;

import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Tag;

/**
 * Random sequences of calls. They run on the engine of jqwik.
 */
interface SequenceContract extends StoreContract {

	@Property(tries = 100)
	@Tag("promise-2")
	@Tag("promise-3")
	@Tag("promise-4")
	default void everyAnswerEqualsThatOfTheModel(@ForAll(supplier = Steps.class) List<Step> steps) {
		Sequence sequence = new Sequence(store());
		steps.forEach(sequence::perform);
	}

}
