/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.stream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.core.retry.RetryListener;
import org.springframework.core.retry.RetryPolicy;
import org.springframework.core.retry.RetryTemplate;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link BlockedAwareRetryTemplate}.
 */
@Tag("promise-13")
class BlockedAwareRetryTemplateTests {

	@Test
	void policyAndListenerAreThoseOfTheDecoratedTemplate() {
		RetryTemplate template = new RetryTemplate(RetryPolicy.withMaxRetries(7));
		template.setRetryListener(new RetryListener() {
		});
		BlockedAwareRetryTemplate decorated = new BlockedAwareRetryTemplate(template);
		assertThat(decorated.getRetryPolicy()).isSameAs(template.getRetryPolicy());
		assertThat(decorated.getRetryListener()).isSameAs(template.getRetryListener());
	}

}
