/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.ledger;

import java.math.BigDecimal;
import java.util.UUID;

/**
 * The result of a charge.
 */
record Receipt(UUID paymentId, long entry, BigDecimal balance) {

}
