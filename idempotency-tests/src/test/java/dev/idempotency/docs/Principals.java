/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.docs;

import org.apache.kafka.common.security.auth.AuthenticationContext;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder;

/**
 * Gives each request of a client the current principal. The broker runs in this JVM.
 */
public final class Principals extends DefaultKafkaPrincipalBuilder {

	static final String ADMIN = "admin";

	private static volatile String current = ADMIN;

	public Principals() {
		super(null, null);
	}

	static void use(String name) {
		current = name;
	}

	@Override
	public KafkaPrincipal build(AuthenticationContext context) {
		return new KafkaPrincipal(KafkaPrincipal.USER_TYPE,
				context.listenerName().equals("CONTROLLER") ? ADMIN : current);
	}

}
