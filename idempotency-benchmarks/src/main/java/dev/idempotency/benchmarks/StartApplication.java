/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Locale;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.transaction.annotation.Transactional;

import dev.idempotency.Idempotent;

/**
 * A small application in a JVM of its own, which prints what its start has cost, and
 * ends.
 */
public final class StartApplication {

	private StartApplication() {
	}

	/**
	 * Start the application.
	 * @param arguments properties of the application
	 */
	public static void main(String[] arguments) {
		ConfigurableApplicationContext context = new SpringApplicationBuilder(Configuration.class)
			.web(WebApplicationType.NONE)
			.registerShutdownHook(false)
			.run(arguments);
		double started = ManagementFactory.getRuntimeMXBean().getUptime();
		// Objects with cleaners are collected by the second one.
		System.gc();
		System.gc();
		long heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
		long rest = ManagementFactory.getMemoryMXBean().getNonHeapMemoryUsage().getUsed();
		List<Double> figures = List.of(started, megabytes(heap), megabytes(rest),
				(double) context.getBeanDefinitionCount(),
				(double) ManagementFactory.getClassLoadingMXBean().getLoadedClassCount(),
				(double) ManagementFactory.getThreadMXBean().getThreadCount());
		figures.forEach((figure) -> System.out.printf(Locale.ROOT, "@%f%n", figure));
		Runtime.getRuntime().halt(0);
	}

	private static double megabytes(long bytes) {
		return bytes / 1e6;
	}

	/**
	 * A listener that writes to a database.
	 */
	@SpringBootConfiguration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Configuration {

		@Bean
		Listener listener(JdbcTemplate jdbc) {
			return new Listener(jdbc);
		}

	}

	/**
	 * The listener.
	 */
	static class Listener {

		private final JdbcTemplate jdbc;

		Listener(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
		}

		@KafkaListener(topics = "${benchmark.topic}", groupId = "start")
		@Idempotent(key = "#record.key()")
		@Transactional
		void charge(ConsumerRecord<String, String> record) {
			this.jdbc.update("INSERT INTO charge (payment, amount) VALUES (?, ?)", record.key(), 5);
		}

	}

}
