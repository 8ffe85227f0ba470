/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.soak;

import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.util.LinkedHashMap;
import java.util.Map;

import com.sun.management.UnixOperatingSystemMXBean;
import com.zaxxer.hikari.HikariDataSource;
import io.micrometer.core.instrument.MeterRegistry;
import org.springframework.context.ApplicationContext;
import tools.jackson.databind.json.JsonMapper;

/**
 * The resources of this process.
 */
final class Resources {

	private final HikariDataSource pool;

	private final MeterRegistry meters;

	Resources(ApplicationContext context) {
		this.pool = context.getBean(HikariDataSource.class);
		this.meters = context.getBean(MeterRegistry.class);
	}

	String read() {
		// Objects with cleaners are collected by the second one.
		System.gc();
		System.gc();
		Map<String, Long> values = new LinkedHashMap<>();
		values.put("heap after full collections, bytes",
				ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed());
		values.put("metaspace, bytes", metaspace());
		values.put("direct buffers, bytes", directBuffers());
		values.put("loaded classes", (long) ManagementFactory.getClassLoadingMXBean().getLoadedClassCount());
		values.put("threads", (long) ManagementFactory.getThreadMXBean().getThreadCount());
		values.put("file descriptors", ((UnixOperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
			.getOpenFileDescriptorCount());
		values.put("connections of the pool", (long) this.pool.getHikariPoolMXBean().getTotalConnections());
		values.put("meters", (long) this.meters.getMeters().size());
		return JsonMapper.shared().writeValueAsString(values);
	}

	private static long metaspace() {
		return ManagementFactory.getMemoryPoolMXBeans()
			.stream()
			.filter((pool) -> pool.getName().equals("Metaspace"))
			.map(MemoryPoolMXBean::getUsage)
			.mapToLong((usage) -> usage.getUsed())
			.sum();
	}

	private static long directBuffers() {
		return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class)
			.stream()
			.filter((pool) -> pool.getName().equals("direct"))
			.mapToLong(BufferPoolMXBean::getMemoryUsed)
			.sum();
	}

}
