/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;

import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.Lifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.integration.kafka.inbound.KafkaMessageDrivenChannelAdapter;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.util.Assert;

/**
 * The consumer of one peer, in a JVM of its own. It reads commands from its standard
 * input, and ends with it. Its answers begin with an at sign.
 */
public final class PeerApplication {

	/**
	 * The argument of a consumer that reports its progress, instead of measuring rounds.
	 */
	static final String PROGRESS = "progress";

	private final ConfigurableApplicationContext context;

	private final Meter meter;

	private PeerApplication(ConfigurableApplicationContext context, Meter meter) {
		this.context = context;
		this.meter = meter;
	}

	/**
	 * Start the consumer.
	 * @param arguments the name of the peer, {@value #PROGRESS} or another word, and
	 * properties of the application
	 * @throws Exception if a measurement fails
	 */
	public static void main(String[] arguments) throws Exception {
		Peer peer = Peer.valueOf(arguments[0]);
		Meter meter = new Meter();
		Object interceptor = PROGRESS.equals(arguments[1]) ? new Progress() : meter;
		ConfigurableApplicationContext context = new SpringApplicationBuilder(Configuration.class)
			.sources(peer.configuration())
			.initializers((starting) -> starting.getBeanFactory().registerSingleton("interceptor", interceptor))
			.web(WebApplicationType.NONE)
			.registerShutdownHook(false)
			.run(Arrays.copyOfRange(arguments, 2, arguments.length));
		try {
			new PeerApplication(context, meter).serve();
		}
		catch (Exception ex) {
			ex.printStackTrace();
		}
		// Neither a client nor a container may keep the JVM running.
		Runtime.getRuntime().halt(0);
	}

	private void serve() throws IOException, InterruptedException {
		BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
		answer("ready");
		for (String line = commands.readLine(); line != null; line = commands.readLine()) {
			String[] command = line.split(" ");
			switch (command[0]) {
				case "round" -> round(Integer.parseInt(command[1]), Integer.parseInt(command[2]),
						Integer.parseInt(command[3]), Integer.parseInt(command[4]));
				case "consume" -> consumer().start();
				case "heap" -> answer("heap " + heap());
				case "stop" -> {
					consumer().stop();
					this.context.close();
					answer("stopped");
					return;
				}
				default -> throw new IllegalArgumentException("Unknown command '" + line + "'");
			}
		}
	}

	private void round(int number, int partitions, int records, int duplicates) throws InterruptedException {
		Window window = new Window(Workload.of(number, partitions, records, duplicates), null);
		this.meter.open(window);
		Lifecycle consumer = consumer();
		consumer.start();
		Phase phase = window.await();
		consumer.stop();
		answer(String.format(Locale.ROOT, "phase %f %f %f", phase.rate(), phase.p50(), phase.p99()));
	}

	private Lifecycle consumer() {
		KafkaMessageDrivenChannelAdapter<?, ?> adapter = this.context
			.getBeanProvider(KafkaMessageDrivenChannelAdapter.class)
			.getIfAvailable();
		if (adapter != null) {
			return adapter;
		}
		MessageListenerContainer container = this.context.getBean(KafkaListenerEndpointRegistry.class)
			.getListenerContainer(BenchmarkListener.PROTECTED);
		Assert.state(container != null, "The application has no listener container");
		return container;
	}

	private static long heap() {
		// Objects with cleaners are collected by the second one.
		System.gc();
		System.gc();
		return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
	}

	static void answer(String text) {
		System.out.println("@" + text);
	}

	/**
	 * The beans that all peers share.
	 */
	@SpringBootConfiguration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Configuration {

		@Bean
		Charges charges(JdbcTemplate jdbc) {
			return new Charges(jdbc);
		}

	}

}
