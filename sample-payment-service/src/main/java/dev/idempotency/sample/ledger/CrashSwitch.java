/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.ledger;

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.stereotype.Component;

/**
 * Simulates a crash: the next charge of each ledger fails between its debit and its
 * entry.
 */
@Component
class CrashSwitch {

	private static final Logger logger = LoggerFactory.getLogger(CrashSwitch.class);

	private final Set<String> armed = ConcurrentHashMap.newKeySet();

	void arm() {
		this.armed.addAll(List.of("ledger", "ledger-unprotected"));
	}

	void crashIfArmed(String ledger) {
		if (this.armed.remove(ledger)) {
			logger.warn("A handler of '{}' fails between debit and entry, because the crash switch is armed", ledger);
			throw new IllegalStateException("Crash between debit and entry");
		}
	}

}
