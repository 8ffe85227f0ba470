/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.ledger;

import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

/**
 * Arms the simulated crash.
 */
@RestController
class CrashController {

	private final CrashSwitch crashSwitch;

	CrashController(CrashSwitch crashSwitch) {
		this.crashSwitch = crashSwitch;
	}

	@PostMapping("/api/crash")
	@ResponseStatus(HttpStatus.NO_CONTENT)
	void crash() {
		this.crashSwitch.arm();
	}

}
