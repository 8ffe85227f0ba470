/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Supplier;

import dev.idempotency.OperationInProgressException;

/**
 * Threads that run the same action at the same time.
 */
final class Crowd {

	static final int SIZE = 8;

	private static final int TRIES = 20;

	private Crowd() {
	}

	// A call that waited too long for another one has changed nothing.
	static <T> T answer(Supplier<T> call) {
		for (int tries = 1; tries < TRIES; tries++) {
			try {
				return call.get();
			}
			catch (OperationInProgressException ex) {
				continue;
			}
		}
		return call.get();
	}

	static <T> List<T> of(Supplier<T> action) throws Exception {
		CyclicBarrier start = new CyclicBarrier(SIZE);
		Callable<T> together = () -> {
			start.await();
			return answer(action);
		};
		ExecutorService executor = Executors.newFixedThreadPool(SIZE);
		try {
			List<T> answers = new ArrayList<>();
			for (Future<T> answer : executor.invokeAll(Collections.nCopies(SIZE, together))) {
				answers.add(answer.get());
			}
			return answers;
		}
		finally {
			executor.shutdownNow();
		}
	}

}
