/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;
import java.util.function.Supplier;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.util.function.SingletonSupplier;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.StalePolicy;
import dev.idempotency.jdbc.JdbcIdempotencyStore;
import dev.idempotency.jdbc.JdbcSchemaMigration;
import dev.idempotency.jdbc.Layout;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Fingerprint;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.template.IdempotentOperation;
import dev.idempotency.template.OperationVersion;

import static dev.idempotency.contract.OneKey.one;

/**
 * A database with a store.
 */
public final class TestDatabase implements AfterAllCallback, AutoCloseable {

	public static final String TABLE = "idempotency_record";

	public static final Duration TIMEOUT = Duration.ofSeconds(4);

	public static final Duration LEASE = Duration.ofMinutes(1);

	public static final Duration RETENTION = Duration.ofHours(1);

	public static final Duration PARTITION_INTERVAL = Duration.ofDays(1);

	// Copies of a database with the tables are made sooner than the tables.
	private static final Map<Layout, Supplier<String>> TEMPLATES = Map.of(Layout.SINGLE,
			SingletonSupplier.of(() -> template(Layout.SINGLE)), Layout.PARTITIONED,
			SingletonSupplier.of(() -> template(Layout.PARTITIONED)));

	private final String url;

	private final HikariDataSource pool;

	private final JdbcTemplate jdbc;

	private final JdbcIdempotencyStore store;

	private TestDatabase(String url, HikariDataSource pool, JdbcTemplate jdbc, Layout layout) {
		this.url = url;
		this.pool = pool;
		this.jdbc = jdbc;
		this.store = new JdbcIdempotencyStore(this.pool, TABLE, TIMEOUT, layout, PARTITION_INTERVAL, null);
	}

	/**
	 * Create an empty database: of PostgreSQL, or of H2 when the system property
	 * {@code test.database} is {@code h2}, as it is in the profile {@code mutation}.
	 * @return the database
	 */
	public static TestDatabase create() {
		return "h2".equals(System.getProperty("test.database")) ? h2() : create(Layout.SINGLE);
	}

	/**
	 * Create a database with a partitioned table.
	 * @return the database
	 */
	public static TestDatabase partitioned() {
		return create(Layout.PARTITIONED);
	}

	private static String template(Layout layout) {
		String url = Servers.newDatabase();
		migrate(new DriverManagerDataSource(url, Servers.postgres().username(), Servers.postgres().password()), layout);
		return url;
	}

	private static <T extends DataSource> T migrate(T dataSource, Layout layout) {
		JdbcSchemaMigration.migrate(dataSource, dataSource, TABLE, layout);
		return dataSource;
	}

	static String newMigrated() {
		return newMigrated(Layout.SINGLE);
	}

	private static String newMigrated(Layout layout) {
		return Servers.copyOf(TEMPLATES.get(layout).get());
	}

	private static TestDatabase create(Layout layout) {
		String url = newMigrated(layout);
		return new TestDatabase(url, Servers.pool(url), Servers.jdbc(url), layout);
	}

	/**
	 * Create an empty database of MariaDB, with its own driver.
	 * @return the database
	 */
	public static TestDatabase mariaDb() {
		return mySql(Servers.newMariaDb());
	}

	/**
	 * Use an empty database of MariaDB or MySQL.
	 * @param url its URL, which contains the user
	 * @return the database
	 */
	public static TestDatabase mySql(String url) {
		return new TestDatabase(url, migrate(Servers.mySqlPool(url), Layout.SINGLE),
				new JdbcTemplate(new DriverManagerDataSource(url)), Layout.SINGLE);
	}

	/**
	 * Create a database in the memory of this JVM.
	 * @return the database
	 */
	public static TestDatabase h2() {
		return h2("mem:" + Servers.unique("h2") + ";DB_CLOSE_DELAY=-1");
	}

	/**
	 * Create an H2 database.
	 * @param url the URL after {@code jdbc:h2:}
	 * @return the database
	 */
	public static TestDatabase h2(String url) {
		HikariConfig config = new HikariConfig();
		config.setJdbcUrl("jdbc:h2:" + url);
		config.setMaximumPoolSize(32);
		config.setMinimumIdle(0);
		return new TestDatabase(config.getJdbcUrl(), migrate(new HikariDataSource(config), Layout.SINGLE),
				new JdbcTemplate(new DriverManagerDataSource(config.getJdbcUrl())), Layout.SINGLE);
	}

	public static IdempotencyKey newKey() {
		return IdempotencyKey.of("scope", Servers.unique("key"));
	}

	public static ClaimRequest request(IdempotencyKey key) {
		return new ClaimRequest(key, UUID.randomUUID(), null, LEASE, RETENTION);
	}

	public static ClaimRequest request(IdempotencyKey key, Duration lease) {
		return new ClaimRequest(key, UUID.randomUUID(), null, lease, RETENTION);
	}

	public static ClaimRequest request(IdempotencyKey key, @Nullable String content) {
		byte[] fingerprint = (content != null) ? Fingerprint.of(content.getBytes(StandardCharsets.UTF_8)) : null;
		return new ClaimRequest(key, UUID.randomUUID(), fingerprint, LEASE, RETENTION);
	}

	public static IdempotentOperation operation(IdempotencyKey key, Mode mode) {
		return operation(key, mode, null, LEASE);
	}

	public static IdempotentOperation operation(IdempotencyKey key, Mode mode, byte[] fingerprint, Duration lease) {
		return new IdempotentOperation(key, "payments", "topic-0@7", mode, fingerprint, lease, RETENTION, null, null);
	}

	public static IdempotentOperation operation(IdempotencyKey key, Mode mode, long version, StalePolicy onStale) {
		return new IdempotentOperation(key, "payments", "topic-0@7", mode, null, LEASE, RETENTION, null,
				new OperationVersion(version, onStale));
	}

	public String url() {
		return this.url;
	}

	private boolean isH2() {
		return this.url.startsWith("jdbc:h2:");
	}

	public HikariDataSource pool() {
		return this.pool;
	}

	/**
	 * Return a template that takes part in no transaction.
	 * @return the template
	 */
	public JdbcTemplate jdbc() {
		return this.jdbc;
	}

	public JdbcIdempotencyStore store() {
		return this.store;
	}

	public IdempotencyRecord record(IdempotencyKey key) {
		return one(this.store).find(key).orElseThrow();
	}

	/**
	 * Return all columns of a record.
	 * @param key its key
	 * @return the text of the row
	 */
	public String row(IdempotencyKey key) {
		return this.jdbc.queryForObject("SELECT r::text FROM " + TABLE + " r WHERE id = ?", String.class, key.id());
	}

	/**
	 * Let the lease of a claim expire.
	 * @param key its key
	 */
	public void endLease(IdempotencyKey key) {
		this.jdbc.update("UPDATE " + TABLE + " SET lease_until = CURRENT_TIMESTAMP WHERE id = ?", key.id());
	}

	/**
	 * Let the retention of a key expire.
	 * @param key the key
	 */
	public void endRetention(IdempotencyKey key) {
		this.jdbc.update("UPDATE " + TABLE + " SET expires_at = CURRENT_TIMESTAMP WHERE id = ?", key.id());
	}

	/**
	 * Switch to the next partition. Open transactions may still write to the previous
	 * partition.
	 */
	public void openPartition() {
		String done = null;
		while (!"opened".equals(done)) {
			done = rotate();
		}
	}

	/**
	 * Switch to the next partition when no open transaction writes to the previous one.
	 */
	public void nextPartition() {
		openPartition();
		String done = null;
		while (!"closed".equals(done)) {
			done = rotate();
		}
	}

	private @Nullable String rotate() {
		return this.jdbc.queryForObject("SELECT " + TABLE + "_rotate(0)", String.class);
	}

	/**
	 * Remove the database with all its connections.
	 */
	public void drop() {
		if (isH2()) {
			this.pool.close();
			return;
		}
		Servers.jdbc(Servers.postgres().url("postgres"))
			.execute("DROP DATABASE " + this.url.substring(this.url.lastIndexOf('/') + 1) + " WITH (FORCE)");
	}

	// As an extension it lives as long as its test class. A mutation run executes each
	// test as if its class had no others, so an H2 database lives as long as the JVM.
	@Override
	public void afterAll(ExtensionContext context) {
		if (!isH2()) {
			close();
		}
	}

	@Override
	public void close() {
		this.pool.close();
	}

}
