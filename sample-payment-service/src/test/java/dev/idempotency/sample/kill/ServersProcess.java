/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.kill;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;

import javax.sql.DataSource;

import org.springframework.jdbc.datasource.DriverManagerDataSource;

import dev.idempotency.test.kill.ChildApplication;
import dev.idempotency.test.kill.ChildProcess;

/**
 * The servers of the sample in a process that outlives the processes of the service.
 */
final class ServersProcess implements AutoCloseable {

	private final Properties addresses = new Properties();

	private final Path file;

	private final ChildProcess process;

	private ServersProcess(Path file, ChildProcess process) throws IOException {
		this.file = file;
		this.process = process;
		try (Reader reader = Files.newBufferedReader(file)) {
			this.addresses.load(reader);
		}
	}

	static ServersProcess start(ChildApplication sample) throws IOException {
		Path file = Files.createTempDirectory("kill-test").resolve("servers.properties");
		return new ServersProcess(file,
				sample.name("servers")
					.arguments("servers", "--sample.servers.file=" + file)
					.readyWhen((process) -> Files.exists(file))
					// PostgreSQL and Redis are processes of the servers, which stop them.
					.terminateAtExit()
					.start()
					.awaitReady());
	}

	String bootstrapServers() {
		return this.addresses.getProperty("spring.kafka.bootstrap-servers");
	}

	DataSource database() {
		return new DriverManagerDataSource(this.addresses.getProperty("spring.datasource.url"));
	}

	// The file with all addresses, as properties of the service.
	Path addresses() {
		return this.file;
	}

	@Override
	public void close() {
		this.process.terminate();
		this.process.awaitEnd();
	}

}
