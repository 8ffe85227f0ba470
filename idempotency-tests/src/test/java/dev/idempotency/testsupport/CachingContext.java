/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import org.springframework.context.annotation.AnnotationConfigApplicationContext;

/**
 * A context that keeps what Spring has found out about classes: each start and each end
 * of a context would forget it for all contexts of the JVM.
 */
final class CachingContext extends AnnotationConfigApplicationContext {

	@Override
	protected void resetCommonCaches() {
	}

}
