/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

/**
 * The figures of both listeners for the same records.
 *
 * @param limit the figures of the limit
 * @param guarded the figures of the protected listener
 */
record Round(Phase limit, Phase guarded) {

	double ratio() {
		return this.guarded.rate() / this.limit.rate();
	}

}
