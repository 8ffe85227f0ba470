/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Stream;

import com.sun.management.OperatingSystemMXBean;
import org.apache.kafka.common.utils.AppInfoParser;
import org.springframework.boot.SpringBootVersion;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.kafka.core.KafkaTemplate;

/**
 * The machine and the software versions of a measurement.
 *
 * @param lines the descriptions by name
 */
record Machine(Map<String, String> lines) {

	static Machine describe(Servers servers) {
		Map<String, String> lines = new LinkedHashMap<>();
		OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
		lines.put("Machine", "%d cores (%s), %d GB of memory, %s; clients and servers share it".formatted(
				system.getAvailableProcessors(), processor(), system.getTotalMemorySize() >> 30, system.getName()));
		lines.put("JVM", System.getProperty("java.vm.name") + " " + System.getProperty("java.runtime.version")
				+ ", 2 GB of heap for the clients and the broker");
		lines.put("Spring", "Boot " + SpringBootVersion.getVersion() + ", Spring Kafka "
				+ KafkaTemplate.class.getPackage().getImplementationVersion());
		lines.put("Kafka", AppInfoParser.getVersion() + ", one broker in the JVM of the listeners");
		lines.put("Network to the stores", servers.describeNetwork());
		lines.put("PostgreSQL", servers.query("SHOW server_version") + "; fsync " + servers.query("SHOW fsync")
				+ ", synchronous_commit " + servers.query("SHOW synchronous_commit") + ", shared_buffers "
				+ servers.query("SHOW shared_buffers") + ", max_wal_size " + servers.query("SHOW max_wal_size"));
		lines.put("Redis", redis(servers.redisPort()) + "; no persistence");
		lines.putAll(servers.describeOptional());
		return new Machine(lines);
	}

	private static String redis(int port) {
		LettuceConnectionFactory connections = new LettuceConnectionFactory("localhost", port);
		connections.start();
		try (RedisConnection connection = connections.getConnection()) {
			return String.valueOf(connection.serverCommands().info("server").getProperty("redis_version"));
		}
		finally {
			connections.destroy();
		}
	}

	private static String processor() {
		try (Stream<String> lines = Files.lines(Path.of("/proc/cpuinfo"))) {
			return lines.filter((line) -> line.startsWith("model name"))
				.map((line) -> line.substring(line.indexOf(':') + 1).trim())
				.findFirst()
				.orElseGet(() -> System.getProperty("os.arch"));
		}
		catch (IOException ex) {
			return System.getProperty("os.arch");
		}
	}

}
