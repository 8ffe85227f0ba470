/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * States that a {@code @KafkaListener} method needs no protection, and why. It changes
 * nothing. With {@code idempotency.require=declared}, the application starts only if each
 * listener is {@link Idempotent} or has this annotation. On a class, it applies to all
 * its listener methods.
 *
 * @since 0.1.0
 */
@Target({ ElementType.METHOD, ElementType.TYPE })
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface NotIdempotent {

	/**
	 * The reason, such as "writes a state that is replaced by each record". It is shown
	 * at the endpoint.
	 * @return the reason, not blank
	 */
	String value();

}
