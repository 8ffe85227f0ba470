/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample;

import java.util.List;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.SpringBootApplication;

import dev.idempotency.sample.servers.EmbeddedServersInitializer;
import dev.idempotency.sample.servers.ServersOnly;

/**
 * Starts the payment service. With the argument {@code servers} it starts only the
 * servers that the service needs.
 */
@SpringBootApplication
public class SamplePaymentApplication {

	public static void main(String[] args) {
		boolean serversOnly = List.of(args).contains("servers");
		SpringApplication application = new SpringApplication(
				serversOnly ? ServersOnly.class : SamplePaymentApplication.class);
		application.addInitializers(new EmbeddedServersInitializer());
		if (serversOnly) {
			application.setWebApplicationType(WebApplicationType.NONE);
			application.setKeepAlive(true);
		}
		application.run(args);
	}

}
