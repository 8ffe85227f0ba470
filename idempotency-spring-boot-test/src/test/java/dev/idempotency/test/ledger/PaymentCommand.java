/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.ledger;

/**
 * The request to charge an account.
 *
 * @param paymentId the id of the payment
 * @param account the account
 * @param amount the amount
 */
public record PaymentCommand(String paymentId, String account, int amount) {
}
