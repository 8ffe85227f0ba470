/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.store;

import java.time.Duration;
import java.util.List;

import org.junit.jupiter.api.Test;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.IdempotencyRecords.Change;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyBoolean;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/**
 * Tests for the default methods of {@link IdempotencyRecords}.
 */
class IdempotencyRecordsTests {

	@Test
	void recordThatATransactionHoldsIsSkippedByABulkEviction() {
		IdempotencyRecords records = mock();
		IdempotencyKey held = IdempotencyKey.of("scope", "held");
		IdempotencyKey free = IdempotencyKey.of("scope", "free");
		given(records.evictAll(any(), anyBoolean())).willCallRealMethod();
		given(records.evict(held, false)).willThrow(new OperationInProgressException("locked", Duration.ZERO));
		given(records.evict(free, false)).willReturn(Change.DONE);
		assertThat(records.evictAll(List.of(held, free), false)).isOne();
	}

}
