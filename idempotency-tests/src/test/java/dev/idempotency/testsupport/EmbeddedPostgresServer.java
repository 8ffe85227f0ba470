/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;

/**
 * A server from the binaries on Maven Central.
 */
final class EmbeddedPostgresServer implements PostgresServer {

	private static final Duration READY = Duration.ofSeconds(60);

	private final Path data = Directories.createInMemory("idempotency-postgres");

	private final int port = Ports.free();

	private EmbeddedPostgres postgres;

	EmbeddedPostgresServer() {
		start();
		Directories.deleteAtExit(this.data, this::stop);
	}

	private EmbeddedPostgres.Builder builder() {
		EmbeddedPostgres.Builder builder = EmbeddedPostgres.builder()
			.setPort(this.port)
			.setDataDirectory(this.data)
			.setCleanDataDirectory(false)
			// It would not wait for our data to be deleted.
			.setRegisterShutdownHook(false)
			.setPGStartupWait(READY);
		SETTINGS.forEach(builder::setServerConfig);
		return builder;
	}

	@Override
	public String url(String database) {
		return "jdbc:postgresql://localhost:" + this.port + "/" + database;
	}

	@Override
	public void stop() {
		try {
			this.postgres.close();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	@Override
	public void start() {
		try {
			this.postgres = builder().start();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
