/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.kill;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Describes how to start an application in a child process: an executable jar, or a main
 * class with the class path of this JVM. Each call of {@link #start()} starts another
 * process. Processes never outlive this JVM, even if it is killed (on Windows only if it
 * ends regularly).
 *
 * @since 0.1.0
 */
public final class ChildApplication {

	private static final Pattern BOOT_STARTED = Pattern.compile("Started \\S+ in \\S+ seconds");

	private final List<String> program;

	private final Map<String, String> properties = new LinkedHashMap<>();

	private final Map<String, String> environment = new LinkedHashMap<>();

	private final List<String> jvmOptions = new ArrayList<>();

	private final List<String> arguments = new ArrayList<>();

	private String name;

	private Readiness readiness = (
			process) -> process.lines().stream().anyMatch((line) -> BOOT_STARTED.matcher(line).find());

	private boolean http;

	private boolean terminateAtExit;

	private Duration startTimeout = Duration.ofMinutes(2);

	private Path outputDirectory = defaultOutputDirectory();

	private ChildApplication(String name, List<String> program) {
		this.name = name;
		this.program = program;
	}

	/**
	 * Describe an executable jar, which is started with {@code java -jar}.
	 * @param jar the jar, for example {@code target/orders.jar}
	 * @return the application
	 * @throws IllegalArgumentException if the file does not exist
	 */
	public static ChildApplication jar(Path jar) {
		if (!Files.isRegularFile(jar)) {
			throw new IllegalArgumentException("The jar " + jar.toAbsolutePath()
					+ " does not exist. Build it first, for example with " + "'mvn -DskipTests package'");
		}
		String file = String.valueOf(jar.getFileName());
		return new ChildApplication(file.replaceFirst("\\.jar$", ""), List.of("-jar", jar.toString()));
	}

	/**
	 * Describe a main class, which is started with the class path of this JVM.
	 * @param type the class with the {@code main} method
	 * @return the application
	 */
	public static ChildApplication main(Class<?> type) {
		return new ChildApplication(type.getSimpleName(),
				List.of("-cp", System.getProperty("java.class.path"), type.getName()));
	}

	private static Path defaultOutputDirectory() {
		for (String target : List.of("target", "build")) {
			if (Files.isDirectory(Path.of(target))) {
				return Path.of(target, "kill-harness");
			}
		}
		return Path.of(System.getProperty("java.io.tmpdir"), "kill-harness");
	}

	/**
	 * Set the name, with which the names of the output files begin.
	 * @param name the name
	 * @return this
	 */
	public ChildApplication name(String name) {
		this.name = name;
		return this;
	}

	/**
	 * Set a system property, which Spring Boot also reads as an application property. The
	 * command line of the process shows it: pass passwords with
	 * {@link #environment(String, String)}.
	 * @param name the name
	 * @param value the value
	 * @return this
	 */
	public ChildApplication property(String name, Object value) {
		this.properties.put(name, value.toString());
		return this;
	}

	/**
	 * Set an environment variable, in addition to those of this JVM.
	 * @param name the name
	 * @param value the value
	 * @return this
	 */
	public ChildApplication environment(String name, String value) {
		this.environment.put(name, value);
		return this;
	}

	/**
	 * Add options of the JVM, for example {@code -Xmx256m}.
	 * @param options the options
	 * @return this
	 */
	public ChildApplication jvmOptions(String... options) {
		this.jvmOptions.addAll(List.of(options));
		return this;
	}

	/**
	 * Add arguments of the {@code main} method.
	 * @param arguments the arguments
	 * @return this
	 */
	public ChildApplication arguments(String... arguments) {
		this.arguments.addAll(List.of(arguments));
		return this;
	}

	/**
	 * Regard a process as ready when a line of its output contains a text. Without a
	 * check of this kind, it is ready when Spring Boot has logged
	 * {@code Started … in … seconds}.
	 * @param text the text
	 * @return this
	 */
	public ChildApplication readyWhenOutputContains(String text) {
		return readyWhen((process) -> process.lines().stream().anyMatch((line) -> line.contains(text)));
	}

	/**
	 * Regard a process as ready when it responds to a {@code GET} request with a status
	 * between 200 and 299. Each process gets a free port as {@code server.port}, see
	 * {@link ChildProcess#uri(String)}.
	 * @param path the path, for example {@code /actuator/health}
	 * @return this
	 */
	public ChildApplication readyWhenHttpOk(String path) {
		this.http = true;
		return readyWhen((process) -> process.respondsTo(path));
	}

	/**
	 * Regard a process as ready when a condition is met. An exception means that it is
	 * not ready yet.
	 * @param readiness the condition
	 * @return this
	 */
	public ChildApplication readyWhen(Readiness readiness) {
		this.readiness = readiness;
		return this;
	}

	/**
	 * Set the time within which a process must be ready, 2 minutes by default.
	 * @param timeout the time
	 * @return this
	 */
	public ChildApplication startTimeout(Duration timeout) {
		this.startTimeout = timeout;
		return this;
	}

	/**
	 * End a process with SIGTERM instead of SIGKILL when this JVM ends, and kill it after
	 * 20 seconds. For servers with child processes of their own, which they must stop.
	 * @return this
	 */
	public ChildApplication terminateAtExit() {
		this.terminateAtExit = true;
		return this;
	}

	/**
	 * Set the directory of the files with the output of the processes, by default
	 * {@code target/kill-harness} or {@code build/kill-harness} if {@code target} or
	 * {@code build} exists, else {@code kill-harness} in the temporary directory.
	 * @param directory the directory, which is created if necessary
	 * @return this
	 */
	public ChildApplication outputDirectory(Path directory) {
		this.outputDirectory = directory;
		return this;
	}

	/**
	 * Start a process. Returns before it is ready.
	 * @return the process
	 * @throws UncheckedIOException if the process cannot be started
	 */
	public ChildProcess start() {
		int port = this.http ? freePort() : 0;
		List<String> command = new ArrayList<>();
		command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
		command.addAll(this.jvmOptions);
		this.properties.forEach((name, value) -> command.add("-D" + name + "=" + value));
		if (port != 0) {
			command.add("-Dserver.port=" + port);
		}
		command.addAll(this.program);
		command.addAll(this.arguments);
		try {
			Files.createDirectories(this.outputDirectory);
			Path output = Files.createTempFile(this.outputDirectory, this.name + "-", ".log");
			ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true)
				.redirectOutput(Redirect.to(output.toFile()));
			builder.environment().putAll(this.environment);
			Process process = builder.start();
			Orphans.prevent(process, this.terminateAtExit);
			return new ChildProcess(process, this.name, output, port, this.readiness, this.startTimeout);
		}
		catch (IOException ex) {
			throw new UncheckedIOException("The application '" + this.name + "' could not be started", ex);
		}
	}

	private static int freePort() {
		try (ServerSocket socket = new ServerSocket(0)) {
			return socket.getLocalPort();
		}
		catch (IOException ex) {
			throw new UncheckedIOException("No port is free", ex);
		}
	}

	String name() {
		return this.name;
	}

	Path outputDirectory() {
		return this.outputDirectory.toAbsolutePath();
	}

	/**
	 * Decides whether a process is ready for traffic.
	 */
	@FunctionalInterface
	public interface Readiness {

		/**
		 * Return whether a process is ready.
		 * @param process the process
		 * @return whether it is ready
		 * @throws Exception if that cannot be found out yet
		 */
		boolean isReady(ChildProcess process) throws Exception;

	}

}
