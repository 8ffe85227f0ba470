/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.async;

import java.time.Duration;

import org.springframework.kafka.support.Acknowledgment;

/**
 * An acknowledgment that passes on to another one what its subclass does not override.
 * The default methods of the interface would reject the call instead. They do reject
 * indexes, as the acknowledgment of a single record does.
 */
public abstract class DelegatingAcknowledgment implements Acknowledgment {

	protected final Acknowledgment delegate;

	protected DelegatingAcknowledgment(Acknowledgment delegate) {
		this.delegate = delegate;
	}

	@Override
	public void nack(Duration sleep) {
		this.delegate.nack(sleep);
	}

	@Override
	public boolean isOutOfOrderCommit() {
		return this.delegate.isOutOfOrderCommit();
	}

	@Override
	public String toString() {
		return this.delegate.toString();
	}

}
