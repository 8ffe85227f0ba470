/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import javax.sql.DataSource;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.util.Assert;

/**
 * Compares a protected listener with its limit. Both consume the same records, in an
 * application with its own topic and database:
 * <ol>
 * <li>One round counts round trips, in an application of its own, and determines the
 * number of records per round.</li>
 * <li>Two rounds warm up. The second has enough records for the code of the faster
 * listener to be compiled.</li>
 * <li>In the measured rounds the listeners take turns to be first.</li>
 * </ol>
 */
final class Comparison {

	private static final int COUNTED_RECORDS = 400;

	// The maximum warm-up time of the slower listener, as a multiple of the faster one.
	private static final int PATIENCE = 15;

	private final Work work;

	private final int threads;

	private final Servers servers;

	private final Options options;

	private final String topic;

	Comparison(Work work, int threads, Servers servers, Options options) {
		this.work = work;
		this.threads = threads;
		this.servers = servers;
		this.options = options;
		this.topic = servers.newTopic(threads);
	}

	/**
	 * Run the comparison.
	 */
	Optional<Measured> run() throws InterruptedException {
		Round counted = countRoundTrips();
		if (!this.work.kind().isEffective(counted.guarded().roundTrips())) {
			return Optional.empty();
		}
		try (ConfigurableApplicationContext context = start()) {
			Round first = round(context, 1, records(counted, this.options.phaseSeconds() / 2), null);
			Round warmUp = round(context, 2, warmUpRecords(first), null);
			int records = records(warmUp, this.options.phaseSeconds());
			List<Round> rounds = new ArrayList<>();
			for (int i = 0; i < this.options.rounds(); i++) {
				Round round = round(context, i + 3, records, null);
				System.out.printf("         round %d of %d: %,9.0f/s %,9.0f/s  %.2f%n", i + 1, this.options.rounds(),
						round.limit().rate(), round.guarded().rate(), round.ratio());
				rounds.add(round);
			}
			return Optional.of(new Measured(this.work, this.threads, counted, rounds));
		}
	}

	private Round countRoundTrips() throws InterruptedException {
		try (ConfigurableApplicationContext context = start(RedisCommands.Configuration.class)) {
			return round(context, 0, COUNTED_RECORDS, roundTrips(context));
		}
	}

	private ConfigurableApplicationContext start(Class<?>... sources) {
		Map<String, Object> properties = new LinkedHashMap<>(this.work.kind().properties(this.servers));
		properties.put("benchmark.topic", this.topic);
		properties.put("benchmark.partitions", "0-" + (this.threads - 1));
		properties.put("spring.kafka.listener.concurrency", this.threads);
		properties.putAll(this.work.kind().properties());
		return new SpringApplicationBuilder(BenchmarkApplication.class).sources(this.work.kind().listeners())
			.sources(sources)
			.web(WebApplicationType.NONE)
			.registerShutdownHook(false)
			.properties(properties)
			.run();
	}

	private RoundTrips roundTrips(ConfigurableApplicationContext context) {
		return switch (this.work.kind().properties().getOrDefault("idempotency.store.type", "jdbc")) {
			case "redis" -> context.getBean(RedisCommands.class);
			case "dynamodb" -> context.getBean(DynamoDbRequests.class);
			default -> (CountedDataSource) context.getBean(DataSource.class);
		};
	}

	private static int records(Round round, double seconds) {
		return (int) (Math.min(round.limit().rate(), round.guarded().rate()) * seconds);
	}

	private int warmUpRecords(Round round) {
		double fast = Math.max(round.limit().rate(), round.guarded().rate());
		return Math.min((int) (fast * this.options.warmUpSeconds()),
				records(round, this.options.warmUpSeconds() * PATIENCE));
	}

	private Round round(ConfigurableApplicationContext context, int number, int records,
			@Nullable RoundTrips roundTrips) throws InterruptedException {
		// Round trips are counted with one thread. With several threads, the count would
		// include records that are not measured.
		Workload workload = Workload.of(number, (roundTrips != null) ? 1 : this.threads, records,
				this.work.duplicates());
		workload.send(this.servers.producer(), this.topic);
		if (number % 2 == 0) {
			Phase limit = phase(context, BenchmarkListener.LIMIT, workload, roundTrips);
			return new Round(limit, phase(context, BenchmarkListener.PROTECTED, workload, roundTrips));
		}
		Phase guarded = phase(context, BenchmarkListener.PROTECTED, workload, roundTrips);
		return new Round(phase(context, BenchmarkListener.LIMIT, workload, roundTrips), guarded);
	}

	private Phase phase(ConfigurableApplicationContext context, String id, Workload workload,
			@Nullable RoundTrips roundTrips) throws InterruptedException {
		Window window = new Window(workload, roundTrips);
		context.getBean(Meter.class).open(window);
		MessageListenerContainer container = context.getBean(KafkaListenerEndpointRegistry.class)
			.getListenerContainer(id);
		Assert.state(container != null, "The application has no listener container with this ID");
		container.start();
		try {
			return window.await();
		}
		finally {
			container.stop();
		}
	}

}
