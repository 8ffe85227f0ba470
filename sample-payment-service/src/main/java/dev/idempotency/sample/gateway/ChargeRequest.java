/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.gateway;

import java.math.BigDecimal;

/**
 * A request to the card gateway.
 */
record ChargeRequest(String account, BigDecimal amount) {

}
