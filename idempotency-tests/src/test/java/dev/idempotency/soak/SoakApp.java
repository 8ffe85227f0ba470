/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.soak;

import java.util.Scanner;

import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.kafka.listener.CommonErrorHandler;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.util.backoff.FixedBackOff;

/**
 * An application with a listener of each kind, two stores and the outbox. It prints its
 * resources on command, and ends with the process that started it.
 */
@SpringBootConfiguration(proxyBeanMethods = false)
@EnableAutoConfiguration
public class SoakApp {

	static final String STARTED = "STARTED";

	static final String SAMPLE = "sample";

	public static void main(String[] args) {
		ConfigurableApplicationContext context = new SpringApplicationBuilder(SoakApp.class, SoakListeners.class)
			.run(args);
		System.out.println(STARTED);
		Resources resources = new Resources(context);
		try (Scanner commands = new Scanner(System.in)) {
			while (commands.hasNextLine()) {
				String number = commands.nextLine().substring(SAMPLE.length());
				System.out.println(SAMPLE + number + resources.read());
			}
		}
		Runtime.getRuntime().halt(1);
	}

	@Bean
	static CommonErrorHandler errorHandler() {
		return new DefaultErrorHandler(new FixedBackOff(100, 5));
	}

}
