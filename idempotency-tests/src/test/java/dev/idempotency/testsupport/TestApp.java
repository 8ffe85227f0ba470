/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.slf4j.bridge.SLF4JBridgeHandler;
import org.springframework.boot.ApplicationContextFactory;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.logging.LoggingSystem;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Import;
import org.springframework.test.util.AopTestUtils;

import dev.idempotency.test.kill.ChildApplication;
import dev.idempotency.test.kill.ChildProcess;

/**
 * A Boot application with all auto-configuration but JPA and Redis, on the shared
 * servers.
 */
public final class TestApp {

	// An application would reset the logging of the whole JVM: it logs everything for a
	// moment and removes handlers.
	static {
		System.setProperty(LoggingSystem.SYSTEM_PROPERTY, LoggingSystem.NONE);
		SLF4JBridgeHandler.removeHandlersForRootLogger();
		SLF4JBridgeHandler.install();
	}

	private static final String JPA = "org.springframework.boot.hibernate.autoconfigure.HibernateJpaAutoConfiguration,"
			+ "org.springframework.boot.data.jpa.autoconfigure.DataJpaRepositoriesAutoConfiguration";

	private static final String REDIS = ",org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration";

	// What no test looks at, in applications without a web server.
	private static final String UNUSED = Stream
		.of("health.autoconfigure.actuate.endpoint.AvailabilityProbes",
				"health.autoconfigure.application.AvailabilityHealthContributor",
				"health.autoconfigure.application.DiskSpaceHealthContributor",
				"health.autoconfigure.application.SslHealthContributor",
				"http.converter.autoconfigure.HttpMessageConverters", "jdbc.autoconfigure.DataSourceInitialization",
				"jdbc.autoconfigure.metrics.DataSourcePoolMetrics", "micrometer.metrics.autoconfigure.jvm.JvmMetrics",
				"micrometer.metrics.autoconfigure.logging.logback.LogbackMetrics",
				"micrometer.metrics.autoconfigure.ssl.SslMetrics",
				"micrometer.metrics.autoconfigure.startup.StartupTimeMetricsListener",
				"micrometer.metrics.autoconfigure.system.SystemMetrics",
				"micrometer.metrics.autoconfigure.task.TaskExecutorMetrics", "netty.autoconfigure.Netty")
		.map((name) -> ",org.springframework.boot." + name + "AutoConfiguration")
		.collect(Collectors.joining());

	private static final String EXCLUDE = "spring.autoconfigure.exclude";

	private static final SharedMetadata METADATA = new SharedMetadata();

	// It lives for seconds: starting soon is worth more than running fast.
	static final List<String> FORK_OPTIONS = List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
			"-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote");

	private static final String BROKERS = "spring.kafka.bootstrap-servers";

	private final Map<String, Object> properties = new LinkedHashMap<>();

	private final Class<?>[] configuration;

	private WebApplicationType type = WebApplicationType.NONE;

	private TestApp(Class<?>... configuration) {
		this.configuration = configuration;
		with("spring.main.banner-mode", "off");
		// Each would search all jars of the class path, at each start.
		with("spring.main.log-startup-info", false);
		with("spring.config.location", "optional:file:./target/no-config/");
		with(EXCLUDE, JPA + REDIS + UNUSED);
		with(BROKERS, Servers.kafka().getBrokersAsString());
		with("spring.kafka.consumer.auto-offset-reset", "earliest");
		with("spring.kafka.consumer.properties.fetch.max.wait.ms", 200);
		with("spring.kafka.listener.poll-timeout", "500ms");
		with("spring.datasource.username", Servers.postgres().username());
		with("spring.datasource.password", Servers.postgres().password());
		with("spring.datasource.hikari.connection-timeout", 10000);
		with("spring.datasource.hikari.maximum-pool-size", 20);
		with("spring.datasource.hikari.minimum-idle", 1);
		with("spring.flyway.enabled", false);
		with("idempotency.cleanup.enabled", false);
	}

	/**
	 * Create an application.
	 * @param configuration its configuration classes
	 * @return the application, without a database
	 */
	public static TestApp of(Class<?>... configuration) {
		return new TestApp(configuration);
	}

	public TestApp with(String name, Object value) {
		this.properties.put(name, value);
		return this;
	}

	public TestApp database(String url) {
		return with("spring.datasource.url", url);
	}

	/**
	 * Exclude some auto-configurations.
	 * @param classes the auto-configurations that are left out
	 * @return this
	 */
	public TestApp without(Stream<Class<?>> classes) {
		return with(EXCLUDE, this.properties.get(EXCLUDE)
				+ classes.map((type) -> "," + type.getName()).collect(Collectors.joining()));
	}

	/**
	 * Add Boot's auto-configuration of JPA.
	 * @return this
	 */
	public TestApp jpa() {
		return with(EXCLUDE,
				"org.springframework.boot.hibernate.autoconfigure.metrics.HibernateMetricsAutoConfiguration" + REDIS
						+ UNUSED);
	}

	/**
	 * Add Boot's auto-configuration of Redis and the Redis store.
	 * @param server the server
	 * @return this
	 */
	public TestApp redis(RedisServer server) {
		with(EXCLUDE, JPA + UNUSED);
		with("spring.data.redis.host", server.host());
		with("spring.data.redis.port", server.port());
		return with("idempotency.store.type", "redis");
	}

	/**
	 * Add a client of DynamoDB and the DynamoDB store, with a table of its own.
	 * @param server the server
	 * @return this
	 */
	public TestApp dynamoDb(DynamoDbServer server) {
		with(DynamoDbClients.ENDPOINT, server.endpoint());
		with("idempotency.dynamodb.table", Servers.unique("app-"));
		with("idempotency.dynamodb.create-table", true);
		return with("idempotency.store.type", "dynamodb");
	}

	/**
	 * Add a web server on a free port.
	 * @return this
	 */
	public TestApp web() {
		this.type = WebApplicationType.SERVLET;
		return with(EXCLUDE, this.properties.get(EXCLUDE).toString().replace(UNUSED, "")).with("server.port", 0);
	}

	/**
	 * Start the application in this process, with a new database that has the table of
	 * records if none was named.
	 * @return its context
	 */
	public ConfigurableApplicationContext run() {
		if (!this.properties.containsKey("spring.datasource.url")) {
			database(TestDatabase.newMigrated());
		}
		Class<?>[] sources = new Class<?>[this.configuration.length + 1];
		sources[0] = Base.class;
		System.arraycopy(this.configuration, 0, sources, 1, this.configuration.length);
		return new SpringApplicationBuilder(sources).web(this.type)
			.registerShutdownHook(false)
			.contextFactory((type) -> (type == WebApplicationType.NONE) ? new CachingContext()
					: ApplicationContextFactory.DEFAULT.create(type))
			.initializers(METADATA)
			.properties(this.properties)
			// The shared broker sets a system property,
			// which takes precedence over these.
			.run("--" + BROKERS + "=" + this.properties.get(BROKERS));
	}

	/**
	 * Describe the application as child processes, which run the {@code main} method of
	 * its first configuration class.
	 * @return the child application
	 */
	public ChildApplication child() {
		ChildApplication child = ChildApplication.main(this.configuration[0])
			.property("spring.main.web-application-type", "none")
			.jvmOptions(FORK_OPTIONS.toArray(String[]::new));
		this.properties.forEach(child::property);
		return child;
	}

	/**
	 * Start the application in a separate process.
	 * @return the process, whose output can be read
	 */
	public ChildProcess fork() {
		return child().start();
	}

	/**
	 * Return the target of a proxied bean, whose fields can be read.
	 * @param context the context
	 * @param type the type of the bean
	 * @param <T> the type of the bean
	 * @return the bean
	 */
	public static <T> T target(ConfigurableApplicationContext context, Class<T> type) {
		return AopTestUtils.getTargetObject(context.getBean(type));
	}

	@SpringBootConfiguration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	@Import(DynamoDbClients.class)
	public static class Base {

	}

}
