/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;

/**
 * An application with a relay, in its own process, that freezes itself (SIGSTOP) in the
 * middle of the first large response of its database.
 */
@SpringBootConfiguration(proxyBeanMethods = false)
@EnableAutoConfiguration
public class FrozenApp {

	static final String STARTED = "STARTED";

	private static final int BYTES = 1 << 20;

	public static void main(String[] args) throws Exception {
		new SpringApplicationBuilder(FrozenApp.class).run(args);
		StallingSocketFactory.stallAfter(BYTES, true);
		System.out.println(STARTED);
		// The process ends with the process that started it.
		System.in.transferTo(System.out);
		Runtime.getRuntime().halt(1);
	}

}
