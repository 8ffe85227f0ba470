/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.readme;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

import javax.tools.ToolProvider;

import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;

import dev.idempotency.readme.Readme.Store;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests that the snippets of {@code README.md} compile and work as described.
 */
@Tag("promise-12")
// All applications use the topic and the consumer groups of the snippets.
@ResourceLock(Readme.TOPIC)
@Order(3)
class ReadmeTests {

	@TempDir
	private Path directory;

	@Test
	void listenersProcessARecordOnceWithTheJdbcStore() throws Exception {
		String database = Servers.newDatabase();
		JdbcTemplate jdbc = Servers.jdbc(database);
		Payment payment = Payment.create();
		payment.createAccount(jdbc);
		run(Store.JDBC, UnaryOperator.identity(), Map.of("spring.datasource.url", database), (context) -> {
			assertThat(context.getBean(IdempotencyStore.class).name()).isEqualTo("jdbc");
			payment.sendTwice();
			payment.awaitConsumption("ledger");
			assertThat(payment.charged(jdbc)).isEqualTo(Payment.AMOUNT);
		});
	}

	@Test
	void listenerProcessesARecordOnceWithTheRedisStore() throws Exception {
		Payment payment = Payment.create();
		UnaryOperator<TestApp> redis = (app) -> app.redis(Servers.redis())
			.without(Stream.of(DataSourceAutoConfiguration.class));
		run(Store.REDIS, redis, Map.of("spring.data.redis.url", Payment.redis()), (context) -> {
			assertThat(context.getBean(IdempotencyStore.class).name()).isEqualTo("redis");
			payment.sendTwice();
			payment.awaitConsumption("gateway");
			assertThat(payment.calls(gatewayFile())).isEqualTo(1);
		});
	}

	@Test
	void sourcesOfGettingStartedCompile() throws Exception {
		assertThat(GettingStarted.sources()).hasSize(6);
		compile(GettingStarted.sources());
	}

	private Path gatewayFile() {
		return this.directory.resolve("gateway");
	}

	private void run(Store store, UnaryOperator<TestApp> servers, Map<String, String> addresses, Assertions assertions)
			throws Exception {
		ClassLoader before = Thread.currentThread().getContextClassLoader();
		try {
			// Never closed: that would close files of its parent's
			// jars, which are shared, while other tests read them.
			URLClassLoader loader = new URLClassLoader(new URL[] { compile(Readme.sources(store)).toUri().toURL() },
					before);
			Thread.currentThread().setContextClassLoader(loader);
			TestApp app = servers.apply(TestApp.of(loader.loadClass("com.example." + store.listener()),
					loader.loadClass("com.example.CardGateway")));
			Readme.properties(store, addresses).forEach(app::with);
			app.with("spring.kafka.bootstrap-servers", Servers.kafka().getBrokersAsString())
				.with("spring.datasource.username", Servers.postgres().username())
				.with("gateway.file", gatewayFile().toString());
			try (ConfigurableApplicationContext context = app.run()) {
				assertions.check(context);
			}
		}
		finally {
			Thread.currentThread().setContextClassLoader(before);
		}
	}

	private Path compile(Map<String, String> sources) throws IOException {
		List<String> arguments = new ArrayList<>(List.of("-proc:none", "-parameters", "-d", this.directory.toString(),
				"-cp", System.getProperty("java.class.path")));
		for (Map.Entry<String, String> source : sources.entrySet()) {
			arguments.add(
					Files.writeString(this.directory.resolve(source.getKey() + ".java"), source.getValue()).toString());
		}
		assertThat(ToolProvider.getSystemJavaCompiler().run(null, null, null, arguments.toArray(String[]::new)))
			.isZero();
		return this.directory;
	}

	/**
	 * The assertions on a running application.
	 */
	interface Assertions {

		void check(ConfigurableApplicationContext context) throws Exception;

	}

}
