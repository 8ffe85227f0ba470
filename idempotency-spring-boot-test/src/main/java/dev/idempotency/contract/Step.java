/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

/**
 * One call of a sequence.
 *
 * @param owner the number of the caller
 * @param call the call
 * @param key the number of the key
 */
record Step(int owner, Call call, int key) {

	@Override
	public String toString() {
		return "owner " + this.owner + ": " + this.call + " key " + this.key;
	}

	/**
	 * The calls of a sequence.
	 */
	enum Call {

		CLAIM, CLAIM_WITH_OTHER_CONTENT, REPEAT_CLAIM_OF, COMPLETE, FAIL, RELEASE, RENEW

	}

}
