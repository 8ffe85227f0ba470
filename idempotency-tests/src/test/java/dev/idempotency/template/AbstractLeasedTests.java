/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.AfterEach;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.testsupport.RecordingObserver;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;
import dev.idempotency.testsupport.UnreliableStore;

/**
 * One operation in leased mode whose handler counts its runs, with a store whose calls
 * may fail.
 */
abstract class AbstractLeasedTests {

	final IdempotencyKey key = TestDatabase.newKey();

	final IdempotentOperation operation = TestDatabase.operation(this.key, Mode.LEASED);

	final RecordingObserver listener = new RecordingObserver();

	final AtomicInteger runs = new AtomicInteger();

	final UnreliableStore store;

	final IdempotencyTemplate template;

	private final TestDatabase records;

	AbstractLeasedTests(TestDatabase database) {
		this.records = database;
		this.store = new UnreliableStore(database.store());
		this.template = new IdempotencyTemplate(this.store, new Settings(null, false, this.listener.observers()));
	}

	@AfterEach
	void closeTemplate() {
		this.store.recover();
		this.template.close();
	}

	IdempotentResult<String> run() {
		return this.template.execute(this.operation, new TextCodec(), () -> "run " + this.runs.incrementAndGet());
	}

	State state() {
		return this.records.record(this.key).state();
	}

}
