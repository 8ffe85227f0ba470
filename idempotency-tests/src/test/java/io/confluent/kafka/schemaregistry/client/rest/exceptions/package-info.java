/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * What the tests need of a schema registry's client.
 */
package io.confluent.kafka.schemaregistry.client.rest.exceptions;
