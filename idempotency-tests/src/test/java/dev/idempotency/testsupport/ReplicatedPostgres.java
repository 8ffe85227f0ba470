/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;

import org.springframework.jdbc.core.JdbcTemplate;

import dev.idempotency.testsupport.FaultyNetwork.Fault;

import static org.awaitility.Awaitility.await;

/**
 * A PostgreSQL server and a standby that replicates from it and is promoted by hand.
 */
public final class ReplicatedPostgres implements AutoCloseable {

	private static final String NAMES = "synchronous_standby_names";

	private static final Duration READY = Duration.ofSeconds(60);

	private final PostgresProcess primary;

	private final PostgresProcess standby;

	// The connection of the standby.
	private final FaultyNetwork link;

	/**
	 * Start both servers.
	 * @param home the directory that contains {@code bin}
	 * @param synchronous whether a commit waits for the standby
	 */
	public ReplicatedPostgres(Path home, boolean synchronous) {
		this.primary = PostgresProcess.create(home, Map.of(NAMES, synchronous ? "*" : "", "synchronous_commit", "on"));
		this.link = new FaultyNetwork(this.primary.port());
		this.standby = PostgresProcess.standby(home, this.link.port(), Map.of("synchronous_commit", "on"));
		await().atMost(READY)
			.until(() -> jdbc(this.primary, "postgres").queryForObject(
					"SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND application_name = 'walreceiver'",
					Long.class) == 1);
	}

	private static JdbcTemplate jdbc(PostgresProcess server, String database) {
		return new JdbcTemplate(new AssertionDataSource(server.url(database), server.username(), server.password()));
	}

	/**
	 * Create an empty database.
	 * @return its URL, which leads to the server that is the primary
	 */
	public String newDatabase() {
		String name = Servers.unique("test");
		jdbc(this.primary, "postgres").execute("CREATE DATABASE " + name);
		return "jdbc:postgresql://localhost:" + this.primary.port() + ",localhost:" + this.standby.port() + "/" + name
				+ "?targetServerType=primary&socketTimeout=5&connectTimeout=5&hostRecheckSeconds=1";
	}

	/**
	 * Interrupt the replication.
	 */
	public void cutLink() {
		this.link.set(Fault.CUT);
	}

	/**
	 * Kill all processes of the primary with SIGKILL.
	 */
	public void killPrimary() {
		this.primary.kill();
	}

	public void promoteStandby() {
		this.standby.promote();
	}

	/**
	 * Start the killed primary again, beside the promoted standby, and return what it
	 * had.
	 * @param url the URL of the database
	 * @return a template for the database on the former primary
	 */
	public JdbcTemplate formerPrimary(String url) {
		this.primary.set(NAMES, "");
		this.primary.start();
		return jdbc(this.primary, url.replaceFirst(".*/", "").replaceFirst("\\?.*", ""));
	}

	@Override
	public void close() {
		this.link.close();
		this.primary.kill();
		this.standby.kill();
	}

}
