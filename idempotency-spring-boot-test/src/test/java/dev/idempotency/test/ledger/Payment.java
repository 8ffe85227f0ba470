/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.ledger;

import java.math.BigDecimal;

/**
 * The request to charge an account.
 *
 * @param id the id of the payment
 * @param account the account
 * @param amount the amount
 */
record Payment(String id, String account, BigDecimal amount) {

}
