/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.servers;

import java.io.IOException;
import java.io.UncheckedIOException;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import org.springframework.beans.factory.DisposableBean;

/**
 * A PostgreSQL server in a child process with its data in a temporary directory.
 */
final class Postgres implements DisposableBean {

	private final EmbeddedPostgres server;

	private Postgres(EmbeddedPostgres server) {
		this.server = server;
	}

	static Postgres start() {
		try {
			// A shutdown hook would stop the server while listeners are still running.
			return new Postgres(EmbeddedPostgres.builder().setRegisterShutdownHook(false).start());
		}
		catch (IOException ex) {
			throw new UncheckedIOException("PostgreSQL could not be started", ex);
		}
	}

	String url() {
		return this.server.getJdbcUrl("postgres", "postgres") + "&socketTimeout=60";
	}

	@Override
	public void destroy() throws IOException {
		this.server.close();
	}

}
