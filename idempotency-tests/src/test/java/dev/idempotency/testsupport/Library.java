/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.net.URI;
import java.nio.file.Path;

import dev.idempotency.Idempotent;

/**
 * The library that is tested: a module beside this one.
 */
public final class Library {

	/**
	 * The sources.
	 */
	public static final Path SOURCES = Path.of("..", "idempotency-spring-boot-autoconfigure", "src", "main", "java");

	/**
	 * The classes and resources: a folder, or a jar if Maven has packaged them.
	 */
	public static final Path CLASSES = Path
		.of(URI.create(Idempotent.class.getProtectionDomain().getCodeSource().getLocation().toString()));

	private Library() {
	}

}
