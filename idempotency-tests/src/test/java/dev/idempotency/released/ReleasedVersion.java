/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.released;

import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

import dev.idempotency.testsupport.Library;

/**
 * Loads the newest released version of the library. The build copies its jar to
 * {@code target/released}. Before the first release there is none, and the current
 * version is loaded a second time.
 */
final class ReleasedVersion extends URLClassLoader {

	private static final Set<String> SHARED = Set.of(Instance.class.getName(), Instance.Order.class.getName());

	private static final Path FOLDER = Path.of("target", "released");

	private static final Path TESTS = Path.of("target", "test-classes");

	private ReleasedVersion(List<Path> paths) {
		super(paths.stream().map(ReleasedVersion::url).toArray(URL[]::new), ReleasedVersion.class.getClassLoader());
	}

	static ReleasedVersion load() throws IOException {
		List<Path> paths = new ArrayList<>();
		if (Files.isDirectory(FOLDER)) {
			try (Stream<Path> jars = Files.list(FOLDER)) {
				jars.forEach(paths::add);
			}
		}
		if (paths.isEmpty()) {
			paths.add(Library.CLASSES);
		}
		paths.add(TESTS);
		return new ReleasedVersion(paths);
	}

	private static URL url(Path path) {
		try {
			return path.toUri().toURL();
		}
		catch (MalformedURLException ex) {
			throw new IllegalStateException(ex);
		}
	}

	@Override
	protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
		if (!name.startsWith("dev.idempotency.") || SHARED.contains(name)) {
			return super.loadClass(name, resolve);
		}
		synchronized (getClassLoadingLock(name)) {
			Class<?> loaded = findLoadedClass(name);
			return (loaded != null) ? loaded : findClass(name);
		}
	}

	@Override
	public URL getResource(String name) {
		URL own = findResource(name);
		return (own != null) ? own : super.getResource(name);
	}

	// Without the auto-configurations and migrations of the current version.
	@Override
	public Enumeration<URL> getResources(String name) throws IOException {
		List<URL> found = new ArrayList<>(Collections.list(findResources(name)));
		for (URL other : Collections.list(getParent().getResources(name))) {
			if (Stream.of(Library.CLASSES, TESTS)
				.noneMatch((path) -> other.toString().contains(url(path).toString()))) {
				found.add(other);
			}
		}
		return Collections.enumeration(found);
	}

}
