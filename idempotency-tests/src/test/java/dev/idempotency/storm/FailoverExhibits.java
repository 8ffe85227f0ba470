/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

import dev.idempotency.evidence.Exhibit;

/**
 * The failovers for the page of evidence.
 */
public final class FailoverExhibits {

	private static final String NOTHING = "nothing is lost or doubled";

	private static final String AS_REDIS = "a key that the replica had not received takes effect again";

	private FailoverExhibits() {
	}

	/**
	 * Return the exhibits.
	 * @return the exhibits, in the order of the page
	 */
	public static List<Exhibit> all() {
		Optional<String> place = InstalledServer.POSTGRESQL_15.place();
		String obstacle = place.isPresent() ? "" : InstalledServer.POSTGRESQL_15.missing();
		Path postgres = Path.of(place.orElse(""));
		return List.of(
				new FailoverExhibit("Redis Sentinel, leased", Shape.RECORD, AS_REDIS, "",
						() -> new RedisFailure.Sentinel(0)),
				new FailoverExhibit("Redis Sentinel, leased, one replica confirms", Shape.RECORD, AS_REDIS, "",
						() -> new RedisFailure.Sentinel(1)),
				new FailoverExhibit("Redis cluster, leased", Shape.RECORD, AS_REDIS, "", RedisFailure.Cluster::new),
				new FailoverExhibit("PostgreSQL, synchronous standby, transactional", Shape.TRANSACTIONAL, NOTHING,
						obstacle, () -> new PostgresFailure(postgres, true)),
				new FailoverExhibit("PostgreSQL, asynchronous standby, transactional", Shape.TRANSACTIONAL,
						"as durable as its replication: effects that the standby had not received are lost with their keys",
						obstacle, () -> new PostgresFailure(postgres, false)),
				new FailoverExhibit("one of three brokers killed, transactional, PostgreSQL", Shape.TRANSACTIONAL,
						NOTHING, "", () -> new KafkaFailure(false)),
				new FailoverExhibit("one of three brokers frozen for 15 s, transactional, PostgreSQL",
						Shape.TRANSACTIONAL, NOTHING, "", () -> new KafkaFailure(true)));
	}

}
