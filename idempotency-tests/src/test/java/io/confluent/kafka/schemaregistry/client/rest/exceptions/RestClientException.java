/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package io.confluent.kafka.schemaregistry.client.rest.exceptions;

/**
 * The name and the accessors of what Confluent's client throws. That client is in no
 * public Maven repository.
 */
public class RestClientException extends Exception {

	private final int status;

	public RestClientException(int status) {
		super("error code: " + status);
		this.status = status;
	}

	public int getStatus() {
		return this.status;
	}

}
