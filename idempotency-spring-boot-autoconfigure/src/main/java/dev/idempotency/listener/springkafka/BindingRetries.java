/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.springkafka;

import java.util.Objects;

import org.jspecify.annotations.Nullable;
import org.springframework.core.retry.RetryTemplate;

/**
 * Reads the retry template of the channel adapter that a binding of Spring Cloud Stream
 * has.
 * <ul>
 * <li>Repairs: the retries of a binding count a blocked record as a failure. The template
 * must be decorated, but Spring Integration offers only the method that sets it.
 * <li>Needed by: Spring Integration 7.0 and 7.1.
 * <li>Ended by: no release yet.
 * <li>Without it: the start of a binding with an idempotent function is refused, with a
 * sentence that names the missing field.
 * </ul>
 */
public final class BindingRetries {

	private static final String TEMPLATE = "retryTemplate";

	static final Repair REPAIR = new Repair(
			"org.springframework.integration.kafka.inbound.KafkaMessageDrivenChannelAdapter",
			Repair.field(TEMPLATE, RetryTemplate.class));

	private BindingRetries() {
	}

	/**
	 * Return why the templates of channel adapters cannot be read.
	 * @param adapter the class of the channel adapters
	 * @return a sentence without its full stop, {@code null} if they can be read
	 */
	public static @Nullable String problem(Class<?> adapter) {
		return (REPAIR.find(adapter) != null) ? null : REPAIR.missing(adapter);
	}

	/**
	 * Return the retry template of a channel adapter.
	 * @param adapter the channel adapter
	 * @return the template, {@code null} if the adapter does not retry
	 */
	public static @Nullable RetryTemplate template(Object adapter) {
		Repair.Members members = Objects.requireNonNull(REPAIR.find(adapter.getClass()));
		return (RetryTemplate) members.get(TEMPLATE, adapter);
	}

}
