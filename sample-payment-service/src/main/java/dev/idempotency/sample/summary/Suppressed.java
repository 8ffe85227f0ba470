/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.summary;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

import org.springframework.stereotype.Component;

import dev.idempotency.template.OperationObserver;

/**
 * Counts the duplicates that the library has suppressed.
 */
@Component
class Suppressed implements OperationObserver {

	private final Map<String, LongAdder> byListener = new ConcurrentHashMap<>();

	@Override
	public void handled(HandledOperation execution) {
		if (execution.outcome() == Outcome.DUPLICATE) {
			this.byListener.computeIfAbsent(execution.listener(), (listener) -> new LongAdder()).increment();
		}
	}

	long of(String listener) {
		LongAdder suppressed = this.byListener.get(listener);
		return (suppressed != null) ? suppressed.sum() : 0;
	}

}
