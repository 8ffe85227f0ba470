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
 * The event that an account has been debited for a payment. The entry numbers of an
 * account increase.
 */
public record PaymentCharged(UUID paymentId, String account, BigDecimal amount, BigDecimal balance, long entry) {

}
