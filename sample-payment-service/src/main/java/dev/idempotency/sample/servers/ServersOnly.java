/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.servers;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.stream.Stream;

import org.springframework.boot.context.event.ApplicationReadyEvent;
import org.springframework.context.ApplicationListener;
import org.springframework.core.env.Environment;

/**
 * Keeps the servers running for other processes and writes their addresses to the
 * properties file that {@code sample.servers.file} specifies.
 */
public final class ServersOnly implements ApplicationListener<ApplicationReadyEvent> {

	private final Environment environment;

	ServersOnly(Environment environment) {
		this.environment = environment;
	}

	@Override
	public void onApplicationEvent(ApplicationReadyEvent event) {
		Path file = Path.of(this.environment.getRequiredProperty("sample.servers.file")).toAbsolutePath();
		try {
			write(file);
		}
		catch (IOException ex) {
			throw new IllegalStateException("The addresses could not be written to " + file, ex);
		}
	}

	private void write(Path file) throws IOException {
		List<String> addresses = Stream
			.of(EmbeddedServersInitializer.DATABASE, EmbeddedServersInitializer.KAFKA, EmbeddedServersInitializer.REDIS)
			.filter(this.environment::containsProperty)
			.map((name) -> name + "=" + this.environment.getRequiredProperty(name))
			.toList();
		// A process that waits for the file must not read an incomplete one.
		Path partial = Files.write(file.resolveSibling(file.getFileName() + ".part"), addresses);
		Files.move(partial, file, StandardCopyOption.ATOMIC_MOVE);
	}

}
