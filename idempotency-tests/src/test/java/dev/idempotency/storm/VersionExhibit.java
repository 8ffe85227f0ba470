/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

import org.jspecify.annotations.Nullable;

import dev.idempotency.evidence.Exhibit;
import dev.idempotency.evidence.Finding;
import dev.idempotency.evidence.Section;
import dev.idempotency.test.kill.ChildApplication;
import dev.idempotency.test.kill.ChildProcess;
import dev.idempotency.testsupport.MariaDbServer;
import dev.idempotency.testsupport.PostgresServer;
import dev.idempotency.testsupport.RedisProcess;

/**
 * A version of a server: the contract of its store and a few kills, in a JVM of their
 * own.
 *
 * @param title the server and its version
 * @param store the store
 * @param tests the contracts
 * @param property the system property that chooses the server, null for the usual one
 * @param server the place of the server, null for the usual one
 */
public record VersionExhibit(String title, Store store, List<String> tests, @Nullable String property,
		@Nullable InstalledServer server) implements Exhibit {

	private static final Duration PATIENCE = Duration.ofMinutes(15);

	private static final List<String> POSTGRESQL = List.of("dev.idempotency.jdbc.PostgresStoreContractTests",
			"dev.idempotency.jdbc.PostgresRecordsContractTests", "dev.idempotency.jdbc.PartitionedStoreContractTests",
			"dev.idempotency.jdbc.PartitionedRecordsContractTests");

	private static final List<String> MARIADB = List.of("dev.idempotency.jdbc.MariaDbStoreContractTests",
			"dev.idempotency.jdbc.MariaDbRecordsContractTests");

	private static final List<String> MYSQL = List.of("dev.idempotency.jdbc.MySqlStoreContractTests",
			"dev.idempotency.jdbc.MySqlStoreTests");

	private static final List<String> REDIS = List.of("dev.idempotency.redis.RedisStoreContractTests",
			"dev.idempotency.redis.RedisRecordsContractTests");

	/**
	 * Return the exhibits.
	 * @return the exhibits, in the order of the page
	 */
	public static List<Exhibit> all() {
		return List.of(
				new VersionExhibit("PostgreSQL 14", Store.JDBC, POSTGRESQL, PostgresServer.HOME_PROPERTY,
						InstalledServer.POSTGRESQL_14),
				new VersionExhibit("PostgreSQL 15", Store.JDBC, POSTGRESQL, PostgresServer.HOME_PROPERTY,
						InstalledServer.POSTGRESQL_15),
				new VersionExhibit("PostgreSQL 17", Store.JDBC, POSTGRESQL, null, null),
				new VersionExhibit("MariaDB 10.11", Store.MARIADB, MARIADB, MariaDbServer.HOME_PROPERTY,
						InstalledServer.MARIADB_10_11),
				new VersionExhibit("MariaDB 11.4", Store.MARIADB, MARIADB, null, null),
				new VersionExhibit("MySQL", Store.MYSQL, MYSQL, "test.mysql.url", InstalledServer.MYSQL_URL),
				new VersionExhibit("Redis 6.2", Store.REDIS, REDIS, null, null), new VersionExhibit("Redis 7.0",
						Store.REDIS, REDIS, RedisProcess.EXECUTABLE_PROPERTY, InstalledServer.REDIS_7_0));
	}

	@Override
	public String name() {
		return "versions/" + this.title.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]+", "-");
	}

	@Override
	public Section section() {
		return Section.VERSIONS;
	}

	@Override
	public Finding run(long seed) {
		ChildApplication application = ChildApplication.main(VersionRun.class)
			.name("version")
			.jvmOptions("-Xmx768m", "-ea")
			.property("test.storm", "PT10S")
			.property("test.servers", "embedded")
			.property(VersionRun.STORE, this.store)
			.property(VersionRun.SEED, seed)
			.arguments(this.tests.toArray(String[]::new))
			.startTimeout(PATIENCE);
		if (this.property != null && this.server != null) {
			Optional<String> place = this.server.place();
			if (place.isEmpty()) {
				return Finding.notPossible(this.server.missing());
			}
			application.property(this.property, place.get());
		}
		try (ChildProcess process = application.start()) {
			process.awaitEnd();
			return VersionRun.finding(process.lines())
				.orElseThrow(() -> new IllegalStateException(process + " has no result, see " + process.output()));
		}
	}

}
