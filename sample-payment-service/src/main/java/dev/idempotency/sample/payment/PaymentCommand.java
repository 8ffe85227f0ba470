/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.payment;

import java.math.BigDecimal;
import java.util.UUID;

/**
 * The command to debit an account once for a payment.
 */
public record PaymentCommand(UUID paymentId, String account, BigDecimal amount) {

}
