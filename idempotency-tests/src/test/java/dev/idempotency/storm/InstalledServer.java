/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

import org.jspecify.annotations.Nullable;

/**
 * Versions of servers that Maven Central does not have, or not completely. An environment
 * variable names their place.
 */
enum InstalledServer {

	/**
	 * The directory that contains {@code bin} of PostgreSQL 14.
	 */
	POSTGRESQL_14(null),

	/**
	 * The directory that contains {@code bin} of PostgreSQL 15, as Debian installs it.
	 */
	POSTGRESQL_15("/usr/lib/postgresql/15"),

	/**
	 * The executable of Redis 7.0.
	 */
	REDIS_7_0(null),

	/**
	 * The directory that contains {@code bin} or {@code sbin} of MariaDB 10.11.
	 */
	MARIADB_10_11(null),

	/**
	 * The JDBC URL of a database of MySQL, with a user who may create databases.
	 */
	MYSQL_URL(null);

	private final @Nullable String usual;

	InstalledServer(@Nullable String usual) {
		this.usual = usual;
	}

	Optional<String> place() {
		String named = System.getenv("EVIDENCE_" + name());
		return (named != null) ? Optional.of(named)
				: Optional.ofNullable(this.usual).filter((path) -> Files.exists(Path.of(path)));
	}

	String missing() {
		return "EVIDENCE_" + name() + " is not set";
	}

}
