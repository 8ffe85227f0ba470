/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.time.Duration;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import dev.idempotency.test.kill.ChildProcess;
import dev.idempotency.test.kill.ProcessGroup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for three processes with four threads each that are killed, stopped, restarted
 * and replaced every few seconds under load. {@code -Dtest.storm=PT2M} extends the
 * duration and adds tests of leased mode.
 */
@Tag("storm")
@ResourceLock("storms")
@Order(1)
class RebalanceStormTests {

	private static final Duration TIME = Duration.parse(System.getProperty("test.storm", "PT10S"));

	// 50,000 in two minutes.
	private static final int PAYMENTS = Integer.getInteger("test.storm.payments",
			(int) (TIME.toSeconds() * 50_000 / 120));

	private static final int PROCESSES = 3;

	private static final Duration PATIENCE = Duration.ofMinutes(5);

	private final Random random = new Random();

	// Each build has KillTests and RebalanceTests.
	@Test
	@EnabledIfSystemProperty(named = "test.storm", matches = ".+", disabledReason = "Part of the profile storm")
	@Tag("promise-1")
	@Tag("promise-2")
	@Tag("promise-5")
	void transactionalPaymentsAreChargedExactlyOnce() throws Exception {
		assertChargedExactlyOnce(Shape.TRANSACTIONAL);
	}

	@Test
	@EnabledIfSystemProperty(named = "test.storm", matches = ".+", disabledReason = "Part of the profile storm")
	@Tag("promise-1")
	@Tag("promise-2")
	@Tag("promise-5")
	void paymentsOfTransactionalBatchesAreChargedExactlyOnce() throws Exception {
		assertChargedExactlyOnce(Shape.BATCH_TRANSACTIONAL);
	}

	@ParameterizedTest
	@EnabledIfSystemProperty(named = "test.storm", matches = ".+", disabledReason = "Part of the profile storm")
	@EnumSource(names = { "OFFSET", "BATCH_OFFSET" })
	@Tag("promise-1")
	@Tag("promise-2")
	@Tag("promise-5")
	void paymentsThatAreRecognizedByTheirOffsetsAreChargedExactlyOnce(Shape shape) throws Exception {
		assertChargedExactlyOnce(shape);
	}

	private void assertChargedExactlyOnce(Shape shape) throws Exception {
		PaymentProcesses payments = new PaymentProcesses(shape, Store.JDBC);
		PaymentTraffic traffic = new PaymentTraffic(payments.topic(), this.random, shape.recognizesCopies());
		try (ProcessGroup processes = new ProcessGroup(payments.application(), this.random)) {
			Charges charges = storm(payments, processes, traffic);
			charges.assertNoneLost(traffic.payments());
			charges.assertNoneDoubled(traffic.payments());
		}
	}

	@ParameterizedTest
	@EnabledIfSystemProperty(named = "test.storm", matches = ".+", disabledReason = "Part of the profile storm")
	@CsvSource({ "RECORD, JDBC", "RECORD, REDIS", "BATCH, JDBC" })
	@Tag("promise-1")
	@Tag("promise-2")
	@Tag("promise-6")
	@Tag("promise-7")
	void leasedPaymentsAreNotLostAndRepeatedOnlyByKilledProcesses(Shape shape, Store store) throws Exception {
		PaymentProcesses payments = new PaymentProcesses(shape, store);
		PaymentTraffic traffic = new PaymentTraffic(payments.topic(), this.random);
		try (ProcessGroup processes = new ProcessGroup(payments.application(), this.random)) {
			Charges charges = storm(payments, processes, traffic);
			charges.assertNoneLost(traffic.payments());
			payments.assertRepeatedOnlyByKilledProcesses(charges, processes.killed());
		}
	}

	private Charges storm(PaymentProcesses payments, ProcessGroup processes, PaymentTraffic traffic) throws Exception {
		for (int process = 0; process < PROCESSES; process++) {
			processes.start();
		}
		processes.awaitReady();
		long start = System.nanoTime();
		CompletableFuture<Void> sending = CompletableFuture.runAsync(() -> send(traffic));
		int terminated = 0;
		int restarted = 0;
		for (int event = 0; !isDone(sending, 2000 + this.random.nextInt(3000)); event++) {
			switch (event % 4) {
				case 1 -> {
					processes.terminate();
					terminated++;
				}
				case 3 -> {
					restartContainers(processes.one());
					restarted++;
				}
				default -> processes.kill();
			}
			if (event % 4 != 3) {
				processes.start();
			}
		}
		Duration stormy = Duration.ofNanos(System.nanoTime() - start);
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(payments.lag()).isZero());
		processes.stop();
		Charges charges = new Charges(payments.charges());
		Duration all = Duration.ofNanos(System.nanoTime() - start);
		System.out.printf(
				"Storm of %s: %d payments in %d records within %d s, consumed after %d s; killed %d processes, "
						+ "ended %d, restarted the containers of %d, added %d; %d rebalances; %d doubled%n",
				payments.name(), traffic.payments().size(), traffic.records(), stormy.toSeconds(), all.toSeconds(),
				processes.killed().size(), terminated, restarted, processes.started().size() - PROCESSES,
				rebalances(processes), charges.doubles());
		assertThat(processes.killed()).isNotEmpty();
		return charges;
	}

	private static void restartContainers(ChildProcess process) {
		process.send(PaymentApp.STOP);
		process.send(PaymentApp.START);
	}

	private static long rebalances(ProcessGroup processes) {
		return processes.started()
			.stream()
			.flatMap((process) -> process.lines().stream())
			.filter((line) -> line.startsWith(PaymentApp.GENERATION))
			.distinct()
			.count();
	}

	private static void send(PaymentTraffic traffic) {
		try {
			traffic.send(PAYMENTS, TIME);
		}
		catch (ExecutionException | InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private static boolean isDone(CompletableFuture<Void> sending, long millis)
			throws ExecutionException, InterruptedException {
		try {
			sending.get(millis, TimeUnit.MILLISECONDS);
			return true;
		}
		catch (TimeoutException ex) {
			return false;
		}
	}

}
