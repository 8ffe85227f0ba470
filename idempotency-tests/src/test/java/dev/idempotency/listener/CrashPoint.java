/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.concurrent.CountDownLatch;

import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * The point at which the process waits until it is killed.
 */
record CrashPoint(CrashShape shape, boolean active) {

	static final String REACHED = "REACHED ";

	// Read by the process that kills this one.
	void say(String line) {
		if (this.active) {
			System.out.println(this.shape + " " + line);
		}
	}

	void reach(String name) {
		say(REACHED + name);
		if (this.active) {
			try {
				new CountDownLatch(1).await();
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
		}
	}

	void reachBeforeCommit(String name) {
		TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

			@Override
			public void beforeCommit(boolean readOnly) {
				reach(name);
			}

		});
	}

	void reachAfterCommit(String name) {
		TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

			@Override
			public void afterCommit() {
				reach(name);
			}

		});
	}

}
