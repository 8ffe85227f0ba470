/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.readme;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.springframework.util.FileSystemUtils;

import static org.awaitility.Awaitility.await;

/**
 * A repository in a folder, with the artifacts of the library as a release deploys them.
 * Maven builds a copy of the sources, so that the folders of the current build do not
 * change.
 *
 * @param folder the folder of the public key and the log
 * @param repository the folder of the repository
 * @param version the version of the artifacts
 */
record Publication(Path folder, Path repository, String version) {

	private static final String VERSION = "0.1.0";

	static final List<String> MODULES = List.of("idempotency-bom", "idempotency-spring-boot-autoconfigure",
			"idempotency-spring-boot-starter", "idempotency-spring-boot-starter-redis", "idempotency-spring-boot-test");

	private static final Set<String> SKIPPED = Set.of(".git", ".idea", "target", "node_modules");

	private static @Nullable Publication first;

	/**
	 * Return the publication in the folder that the property {@code test.repository}
	 * names, otherwise that of this build.
	 * @return the publication
	 */
	static Publication given() throws Exception {
		String repository = System.getProperty("test.repository");
		if (repository == null) {
			return first();
		}
		Path folder = Path.of(repository);
		try (Stream<Path> versions = Files.list(folder.resolve("dev/idempotency/idempotency-bom"))) {
			String version = versions.filter(Files::isDirectory).findFirst().orElseThrow().getFileName().toString();
			return new Publication(folder, folder, version);
		}
	}

	/**
	 * Return the publication that all tests of this JVM share.
	 * @return the publication
	 */
	static synchronized Publication first() throws Exception {
		Publication publication = first;
		if (publication == null) {
			publication = of("first");
			first = publication;
		}
		return publication;
	}

	/**
	 * Publish the artifacts from a fresh copy of the sources.
	 * @param name the name of the folder
	 * @return the publication
	 */
	static Publication of(String name) throws Exception {
		Path folder = Path.of("target", "publication", name).toAbsolutePath();
		FileSystemUtils.deleteRecursively(folder);
		Path sources = Files.createDirectories(folder.resolve("sources"));
		copy(Path.of("..").toAbsolutePath().normalize(), sources);
		Publication publication = new Publication(folder, folder.resolve("repository"), VERSION);
		publication.deploy(sources);
		return publication;
	}

	private static void copy(Path from, Path to) throws IOException {
		Files.walkFileTree(from, new SimpleFileVisitor<>() {

			@Override
			public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) throws IOException {
				if (SKIPPED.contains(folder.getFileName().toString())) {
					return FileVisitResult.SKIP_SUBTREE;
				}
				Files.createDirectories(to.resolve(from.relativize(folder).toString()));
				return FileVisitResult.CONTINUE;
			}

			@Override
			public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
				Files.copy(file, to.resolve(from.relativize(file).toString()), StandardCopyOption.REPLACE_EXISTING);
				return FileVisitResult.CONTINUE;
			}

		});
	}

	private void deploy(Path sources) throws Exception {
		// The path of the agent's socket must be short.
		Path keys = Files.createTempDirectory("gpg",
				PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
		try {
			run(sources, "gpg", "--homedir", keys.toString(), "--batch", "--quiet", "--passphrase", "",
					"--quick-generate-key", "Throw-away key <release@example.invalid>", "rsa3072", "sign", "never");
			run(sources, "gpg", "--homedir", keys.toString(), "--batch", "--quiet", "--output", key().toString(),
					"--export");
			// Checked by the current build.
			run(sources, "mvn", "-B", "-Prelease", "-Dmaven.test.skip", "-Dcheckstyle.skip", "-Dspring-javaformat.skip",
					"-Drevision=" + this.version, "-Dgpg.homedir=" + keys,
					"-DaltDeploymentRepository=local::" + this.repository.toUri(), "deploy");
		}
		finally {
			run(sources, "gpgconf", "--homedir", keys.toString(), "--kill", "all");
			// The agent deletes its sockets at the same time.
			await().until(() -> {
				FileSystemUtils.deleteRecursively(keys.toFile());
				return Files.notExists(keys);
			});
		}
	}

	/**
	 * Return the file with the public key.
	 * @return the file
	 */
	Path key() {
		return this.folder.resolve("key.gpg");
	}

	Path artifacts() {
		return this.repository.resolve("dev/idempotency");
	}

	/**
	 * Return a published file.
	 * @param module the module
	 * @param suffix what follows name and version
	 * @return the file
	 */
	Path file(String module, String suffix) {
		return artifacts().resolve(module).resolve(this.version).resolve(module + "-" + this.version + suffix);
	}

	/**
	 * Return all published files whose content does not depend on the time or the key.
	 * @return the paths relative to the repository
	 */
	List<String> reproducible() {
		try (Stream<Path> files = Files.walk(this.repository)) {
			return files.filter(Files::isRegularFile)
				.map((file) -> this.repository.relativize(file).toString())
				.filter((file) -> !file.contains(".asc") && !file.contains("maven-metadata"))
				.sorted()
				.toList();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Run a program and wait for its end.
	 * @param directory its working directory
	 * @param command the program and its arguments
	 */
	void run(Path directory, String... command) throws Exception {
		run(directory, this.folder.resolve("log"), command);
	}

	static void run(Path directory, Path log, String... command) throws Exception {
		Process process = new ProcessBuilder(new ArrayList<>(List.of(command))).directory(directory.toFile())
			.redirectErrorStream(true)
			.redirectOutput(Redirect.appendTo(log.toFile()))
			.start();
		if (process.waitFor() != 0) {
			throw new IllegalStateException(String.join(" ", command) + " failed:\n" + Files.readString(log));
		}
	}

}
