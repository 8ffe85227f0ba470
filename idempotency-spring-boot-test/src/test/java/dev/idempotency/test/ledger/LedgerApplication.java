/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.ledger;

import org.springframework.boot.autoconfigure.SpringBootApplication;

/**
 * An application with a ledger.
 */
@SpringBootApplication
class LedgerApplication {

}
