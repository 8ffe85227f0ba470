/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.util.Map;

import org.jspecify.annotations.Nullable;

/**
 * A way to handle a record once: by hand, with another project, or with the library.
 */
enum Peer {

	/**
	 * No protection.
	 */
	BARE("bare listener, no protection", Storage.POSTGRES, null, PeerListeners.Bare.class),

	/**
	 * A row with a unique key, in the transaction of the handler.
	 */
	UNIQUE_KEY("hand-written unique key, same transaction", Storage.POSTGRES, null, PeerListeners.UniqueKey.class),

	/**
	 * The default of Spring Integration: the key is stored before the handler runs.
	 */
	INTEGRATION_JDBC("Spring Integration, JDBC", Storage.POSTGRES, null, IntegrationPeers.Jdbc.class),

	/**
	 * The key is stored in the transaction of the handler.
	 */
	INTEGRATION_JDBC_TRANSACTION("Spring Integration, JDBC, same transaction", Storage.POSTGRES, null,
			IntegrationPeers.JdbcTransaction.class),

	/**
	 * The key is stored in Redis before the handler runs.
	 */
	INTEGRATION_REDIS("Spring Integration, Redis", Storage.REDIS, null, IntegrationPeers.Redis.class),

	/**
	 * The key is stored in a durable Redis before the handler runs.
	 */
	INTEGRATION_REDIS_DURABLE("Spring Integration, Redis, `appendfsync always`", Storage.DURABLE_REDIS, null,
			IntegrationPeers.Redis.class),

	/**
	 * The default of Camel: the key is stored before the handler runs, and removed if the
	 * handler fails.
	 */
	CAMEL_JDBC("Camel, JDBC", Storage.POSTGRES, null, CamelPeers.Separate.class),

	/**
	 * The key is stored in the transaction of the handler.
	 */
	CAMEL_JDBC_TRANSACTION("Camel, JDBC, same transaction", Storage.POSTGRES, null, CamelPeers.SameTransaction.class),

	/**
	 * The library with its record in the transaction of the handler.
	 */
	TRANSACTIONAL("**ours, transactional**", Storage.POSTGRES, "jdbc", PeerListeners.InTransaction.class),

	/**
	 * The library with a claim and a completion in PostgreSQL.
	 */
	LEASED_JDBC("**ours, leased, JDBC**", Storage.POSTGRES, "jdbc", PeerListeners.Leased.class),

	/**
	 * The library with a claim and a completion in Redis.
	 */
	LEASED_REDIS("**ours, leased, Redis**", Storage.REDIS, "redis", PeerListeners.Leased.class),

	/**
	 * The library with a claim and a completion in a durable Redis.
	 */
	LEASED_REDIS_DURABLE("**ours, leased, Redis, `appendfsync always`**", Storage.DURABLE_REDIS, "redis",
			PeerListeners.Leased.class);

	private final String title;

	private final Storage storage;

	private final @Nullable String store;

	private final Class<?> configuration;

	Peer(String title, Storage storage, @Nullable String store, Class<?> configuration) {
		this.title = title;
		this.storage = storage;
		this.store = store;
		this.configuration = configuration;
	}

	String title() {
		return this.title;
	}

	boolean usesDurableRedis() {
		return this.storage == Storage.DURABLE_REDIS;
	}

	Class<?> configuration() {
		return this.configuration;
	}

	Map<String, Object> properties() {
		return (this.store != null) ? Map.of("idempotency.store.type", this.store)
				: Map.of("idempotency.enabled", false);
	}

	private enum Storage {

		POSTGRES, REDIS, DURABLE_REDIS

	}

}
