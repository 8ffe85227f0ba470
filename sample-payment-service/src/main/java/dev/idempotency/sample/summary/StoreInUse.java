/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.summary;

/**
 * A store of idempotency keys.
 *
 * @param name the name of the store in meters and at the endpoint
 * @param type the type of the store
 * @param product the name of the server product
 * @param transactional whether a key commits together with the effects of its listener in
 * the database
 */
record StoreInUse(String name, String type, String product, boolean transactional) {

}
