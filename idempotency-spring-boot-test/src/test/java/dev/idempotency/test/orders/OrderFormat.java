/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.orders;

import org.springframework.stereotype.Component;

/**
 * A component that is not a listener.
 */
@Component
class OrderFormat {

}
