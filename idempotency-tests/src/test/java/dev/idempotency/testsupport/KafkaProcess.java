/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.metadata.storage.Formatter;
import org.springframework.util.Assert;

import dev.idempotency.test.kill.Signals;

/**
 * A broker that is also a controller, in a separate process that is killed at the end of
 * the JVM.
 */
final class KafkaProcess {

	private final Path directory;

	private final Path configuration;

	private final List<String> options;

	private Process process;

	/**
	 * Format the storage, and do not start the process.
	 * @param cluster the id of the cluster
	 * @param node the number of the broker
	 * @param properties the settings of the broker, without those of its storage
	 * @param options the options of the JVM
	 */
	KafkaProcess(Uuid cluster, int node, Properties properties, String... options) throws Exception {
		this.directory = Directories.create("idempotency-kafka");
		this.configuration = this.directory.resolve("server.properties");
		this.options = List.of(options);
		properties.put("node.id", String.valueOf(node));
		properties.put("log.dirs", data());
		try (Writer writer = Files.newBufferedWriter(this.configuration)) {
			properties.store(writer, null);
		}
		new Formatter().setPrintStream(new PrintStream(OutputStream.nullOutputStream()))
			.setNodeId(node)
			.setClusterId(cluster.toString())
			.addDirectory(data())
			.setMetadataLogDirectory(data())
			.setControllerListenerName("CONTROLLER")
			.run();
		Directories.deleteAtExit(this.directory, this::stop);
	}

	private String data() {
		return this.directory.resolve("data").toString();
	}

	Path directory() {
		return this.directory;
	}

	Path log() {
		return this.directory.resolve("log");
	}

	void start() {
		Assert.state(!isAlive(), "Kafka still runs, stop it first");
		try {
			List<String> command = new ArrayList<>(List.of(System.getProperty("java.home") + "/bin/java", "-cp",
					System.getProperty("java.class.path"), "-Dlogback.configurationFile=logback-broker.xml"));
			command.addAll(TestApp.FORK_OPTIONS);
			command.addAll(this.options);
			command.addAll(List.of("kafka.Kafka", this.configuration.toString()));
			this.process = new ProcessBuilder(command).redirectErrorStream(true)
				.redirectOutput(Redirect.appendTo(log().toFile()))
				.start();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	boolean isAlive() {
		return this.process != null && this.process.isAlive();
	}

	// Kills the process with SIGKILL, also when it is frozen.
	void stop() {
		if (this.process != null) {
			this.process.destroyForcibly().onExit().join();
		}
	}

	void freeze() {
		Signals.freeze(this.process.pid());
	}

	void resume() {
		Signals.resume(this.process.pid());
	}

}
