/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.servers;

import java.util.LinkedHashMap;
import java.util.Map;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.env.Environment;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.Profiles;

/**
 * Starts each server whose address is not configured before any bean is created. Redis is
 * started only with the profile {@code redis}, and MariaDB instead of PostgreSQL with the
 * profile {@code mariadb}.
 */
public final class EmbeddedServersInitializer implements ApplicationContextInitializer<GenericApplicationContext> {

	static final String KAFKA = "spring.kafka.bootstrap-servers";

	static final String DATABASE = "spring.datasource.url";

	static final String REDIS = "spring.data.redis.url";

	private static final String REDIS_HOST = "spring.data.redis.host";

	private static final Logger logger = LoggerFactory.getLogger(EmbeddedServersInitializer.class);

	@Override
	public void initialize(GenericApplicationContext context) {
		Map<String, Object> addresses = new LinkedHashMap<>();
		context.getEnvironment().getPropertySources().addFirst(new MapPropertySource("embeddedServers", addresses));
		if (!context.getEnvironment().containsProperty(DATABASE)) {
			addresses.put(DATABASE, startDatabase(context));
		}
		if (!context.getEnvironment().containsProperty(KAFKA)) {
			logger.info("Starting Kafka. Set '{}' to use an existing broker", KAFKA);
			Kafka kafka = Kafka.start();
			stopLast(context, kafka);
			addresses.put(KAFKA, kafka.bootstrapServers());
		}
		if (needsRedis(context.getEnvironment())) {
			logger.info("Starting Redis. Set '{}' to use an existing server", REDIS);
			Redis redis = Redis.start();
			stopLast(context, redis);
			addresses.put(REDIS, redis.url());
		}
	}

	private String startDatabase(GenericApplicationContext context) {
		if (context.getEnvironment().acceptsProfiles(Profiles.of("mariadb"))) {
			logger.info("Starting MariaDB. Set '{}' to use an existing server", DATABASE);
			MariaDb mariaDb = MariaDb.start();
			stopLast(context, mariaDb);
			return mariaDb.url();
		}
		logger.info("Starting PostgreSQL. Set '{}' to use an existing server", DATABASE);
		Postgres postgres = Postgres.start();
		stopLast(context, postgres);
		return postgres.url();
	}

	private boolean needsRedis(Environment environment) {
		return environment.acceptsProfiles(Profiles.of("redis")) && !environment.containsProperty(REDIS)
				&& !environment.containsProperty(REDIS_HOST);
	}

	private void stopLast(GenericApplicationContext context, DisposableBean server) {
		// The server is registered before all beans,
		// which are destroyed in reverse order.
		DefaultListableBeanFactory beans = context.getDefaultListableBeanFactory();
		beans.registerDisposableBean(server.getClass().getName(), server);
	}

}
