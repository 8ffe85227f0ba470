/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.kill;

import java.io.IOException;
import java.math.BigDecimal;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

import javax.sql.DataSource;

import org.springframework.boot.logging.LogLevel;
import org.springframework.boot.logging.LoggingSystem;
import org.springframework.jdbc.core.JdbcTemplate;

import dev.idempotency.test.kill.ChildApplication;
import dev.idempotency.test.kill.ConsumerLag;
import dev.idempotency.test.kill.EffectQuery;
import dev.idempotency.test.kill.KillHarness;
import dev.idempotency.test.kill.KillReport;
import dev.idempotency.test.kill.PendingQuery;
import dev.idempotency.test.kill.Round;

/**
 * Kills the payment service at random moments under traffic, on servers that outlive it,
 * and checks that each payment is charged once, and that its event has come through the
 * outbox and is on the statement of its account once. The card gateway also charges each
 * payment once, but a kill between a call and the completion of its key repeats the call.
 * The script {@code kill-test.sh} runs this program.
 */
public final class KillRun {

	private static final Path JAR = Path.of("target/sample-payment-service.jar");

	private static final int PAYMENTS = 2000;

	// The concurrency of the listeners in application.yml.
	private static final int THREADS = 3;

	private static final Duration FREEZE = Duration.ofSeconds(15);

	private final ServersProcess servers;

	private final DataSource database;

	private final ChildApplication service;

	private KillRun(ServersProcess servers, List<String> arguments) {
		this.servers = servers;
		this.database = servers.database();
		this.service = ChildApplication.jar(JAR)
			.property("spring.config.additional-location", "file:" + servers.addresses())
			.property("sample.gateway.lease", "5s")
			.property("idempotency.lease", "5s")
			.arguments(arguments.toArray(String[]::new))
			.readyWhenHttpOk("/actuator/health");
	}

	/**
	 * Run the test.
	 * @param args {@code --redis} for the keys of the gateway in Redis. The environment
	 * variables {@code ROUNDS} and {@code FREEZES} set the number of kills and freezes
	 * @throws IOException if the servers cannot be started
	 */
	public static void main(String[] args) throws IOException {
		boolean redis = List.of(args).equals(List.of("--redis"));
		if (args.length > 0 && !redis) {
			System.err.println("Usage: kill-test.sh [--redis]");
			System.exit(2);
		}
		LoggingSystem.get(KillRun.class.getClassLoader()).setLogLevel(LoggingSystem.ROOT_LOGGER_NAME, LogLevel.ERROR);
		try {
			run(redis ? List.of("--spring.profiles.active=redis") : List.of());
		}
		catch (AssertionError | IllegalStateException | IllegalArgumentException ex) {
			System.err.println(ex.getMessage());
			System.exit(1);
		}
	}

	private static void run(List<String> arguments) throws IOException {
		System.out.println("Starting the servers");
		ChildApplication sample = ChildApplication.jar(JAR).arguments(arguments.toArray(String[]::new));
		try (ServersProcess servers = ServersProcess.start(sample)) {
			new KillRun(servers, arguments).killRepeatedly(environment("ROUNDS", 10), environment("FREEZES", 0));
		}
	}

	private static int environment(String name, int byDefault) {
		String value = System.getenv(name);
		return (value != null) ? Integer.parseInt(value) : byDefault;
	}

	private void killRepeatedly(int kills, int freezes) {
		try (ConsumerLag ledger = lag("ledger", "payments");
				ConsumerLag unprotected = lag("ledger-unprotected", "payments");
				ConsumerLag gateway = lag("gateway", "payments");
				ConsumerLag statement = lag("statement", "payment-charged")) {
			KillReport report = KillHarness.of(this.service)
				.instances((freezes > 0) ? 2 : 1)
				.kills(kills)
				.freezes(freezes, FREEZE)
				.traffic(this::orderPayments)
				// The service stores payments before it sends them.
				.expected(() -> new JdbcTemplate(this.database).queryForList("select id from payment", String.class))
				.pending(PendingQuery.sum(count("payment where not sent"), ledger, unprotected, gateway,
						count("idempotency_outbox where published_at is null and dead_letter_at is null"), statement))
				.effects("charges", effects("payment_id from ledger_entry where ledger = 'ledger' order by id"))
				.effects("statement lines", effects("payment_id from statement_line order by id"))
				.effects("gateway charges", effects("idempotency_key from gateway_charge"))
				.effects("gateway calls", effects("idempotency_key from gateway_call order by id"))
				.effects("charges without protection",
						effects("payment_id from ledger_entry where ledger = 'ledger-unprotected' order by id"))
				.run();
			System.out.println(report);
			check(report);
		}
	}

	private ConsumerLag lag(String group, String topic) {
		return new ConsumerLag(this.servers.bootstrapServers(), group, topic);
	}

	private PendingQuery count(String rows) {
		return PendingQuery.sql(this.database, "select count(*) from " + rows);
	}

	private EffectQuery effects(String query) {
		return EffectQuery.sql(this.database, "select " + query);
	}

	private void orderPayments(Round round) throws InterruptedException {
		URI uri = round.process().uri("/api/payments");
		HttpRequest order = HttpRequest.newBuilder(uri)
			.timeout(Duration.ofSeconds(60))
			.header("Content-Type", "application/json")
			.POST(BodyPublishers.ofString("{\"count\":" + PAYMENTS + ",\"duplicateRate\":0.5}"))
			.build();
		try {
			HttpClient.newHttpClient().send(order, BodyHandlers.discarding());
		}
		catch (IOException ex) {
			// The service was killed meanwhile. It sends stored payments when it
			// restarts.
		}
	}

	private void check(KillReport report) {
		for (String once : List.of("charges", "statement lines", "gateway charges")) {
			report.effects(once).assertNoneLost();
			report.effects(once).assertNoneDoubled();
		}
		report.effects("gateway calls").assertNoneLost();
		report.effects("gateway calls").assertDoubledAtMost(THREADS);
		report.effects("charges without protection").assertNoneLost();
		// Amounts, dead letters, and the order of the events of each account.
		BigDecimal requested = number("sum(amount) from payment");
		same("charged amount", requested, number("sum(amount) from ledger_entry where ledger = 'ledger'"));
		same("debited amount", requested, number("sum(-balance) from account where ledger = 'ledger'"));
		same("amount of the statements", requested, number("sum(amount) from account_statement"));
		same("number of events out of order", BigDecimal.ZERO, number("sum(out_of_order) from account_statement"));
		same("number of dead letters", BigDecimal.ZERO,
				number("count(*) from idempotency_outbox where dead_letter_at is not null"));
		System.out.println("Passed: each of " + report.sent().size() + " payments was charged once");
	}

	private BigDecimal number(String query) {
		return new JdbcTemplate(this.database).queryForObject("select " + query, BigDecimal.class);
	}

	private static void same(String what, BigDecimal expected, BigDecimal actual) {
		if (expected.compareTo(actual) != 0) {
			throw new AssertionError("The " + what + " is " + actual + " instead of " + expected);
		}
	}

}
