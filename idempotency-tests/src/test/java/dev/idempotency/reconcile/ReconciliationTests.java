/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.reconcile;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

import org.assertj.core.groups.Tuple;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.listener.MessageListenerContainer;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.reconcile.ReconciliationReport.State;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.test.kill.ChildProcess;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.awaitility.Awaitility.await;

/**
 * Tests for reconciliations, on a real broker and real stores.
 */
@Order(3)
class ReconciliationTests {

	// The offsets of the records that no listener processes.
	private static final int PROCESSED = 5;

	private static final int CONSUMED = 10;

	@ParameterizedTest
	@ValueSource(strings = { "jdbc", "redis" })
	void lostAndUnfinishedRecordsAreFound(String type) {
		String topic = Servers.newTopic("reconcile", 1);
		try (ConfigurableApplicationContext context = app(type, topic, Servers.newDatabase()).run()) {
			lose(context, topic);
			Reconciliation reconciliation = context.getBean(Reconciliation.class);
			List<ReconciliationFinding> listed = new ArrayList<>();
			Instant start = Instant.now();
			// The lease may have expired only by the clock of the store.
			await().until(() -> reconciliation.run(ReconciliationRequest.of("ledger"), (finding) -> {
			}, (progress) -> {
			}).counts().containsKey(ReconciliationStatus.STUCK));
			ReconciliationReport report = reconciliation.run(ReconciliationRequest.of("ledger"), listed::add,
					(progress) -> {
					});
			assertThat(report.state()).as(report.error()).isEqualTo(State.DONE);
			assertThat(report.counts()).containsExactlyInAnyOrderEntriesOf(Map.of(ReconciliationStatus.COMPLETED, 2L,
					ReconciliationStatus.DECLINED, 1L, ReconciliationStatus.FAILED, 1L, ReconciliationStatus.REJECTED,
					1L, ReconciliationStatus.MISSING, 2L, ReconciliationStatus.IN_PROGRESS, 1L,
					ReconciliationStatus.STUCK, 1L, ReconciliationStatus.UNRESOLVABLE, 1L,
					ReconciliationStatus.NOT_CONSUMED, 1L));
			assertThat(listed).isEqualTo(report.findings())
				.extracting(ReconciliationFinding::offset, ReconciliationFinding::status, ReconciliationFinding::key)
				.containsExactly(row(2, ReconciliationStatus.FAILED, "fails"),
						row(4, ReconciliationStatus.REJECTED, "done"), row(5, ReconciliationStatus.MISSING, "lost"),
						row(6, ReconciliationStatus.MISSING, "also-lost"), row(8, ReconciliationStatus.STUCK, "stuck"),
						row(9, ReconciliationStatus.UNRESOLVABLE, null));
			assertThat(listed.get(0).detail()).contains("IllegalStateException").doesNotContain("4711");
			assertThat(listed.get(5).detail()).contains("no usable idempotency key", "offset 9").doesNotContain("4711");
			// Nothing was consumed or changed, and nothing runs a method.
			assertThat(Kafka.committed(topic, topic, 0)).isEqualTo(CONSUMED);
			assertThat(TestApp.target(context, ReconciledApp.Ledger.class).calls).containsExactly("1", "4711",
					"refuse");
			assertThat(reconciliation.run(part(0L, start), listed::add, (progress) -> {
			}).counts()).isEqualTo(Map.of(ReconciliationStatus.COMPLETED, 2L));
			assertThatIllegalArgumentException()
				.isThrownBy(() -> reconciliation.start(ReconciliationRequest.of("mail")))
				.withMessageContaining("no idempotent listener 'mail'")
				.withMessageContaining("ReconciledApp.Ledger.charge");
		}
	}

	private static Tuple row(long offset, ReconciliationStatus status, String key) {
		return Tuple.tuple(offset, status, key);
	}

	private static ReconciliationRequest part(long offset, Instant to) {
		return new ReconciliationRequest("ReconciledApp.Ledger.charge", null, 0, null, offset, to, 2,
				Duration.ofSeconds(30), Duration.ofMinutes(10), false, Set.of());
	}

	@Test
	void commandLineListsFindingsWithoutStartingTheApplication(@TempDir Path folder) throws IOException {
		String topic = Servers.newTopic("reconcile", 1);
		String database = Servers.newDatabase();
		try (ConfigurableApplicationContext context = app("jdbc", topic, database).run()) {
			lose(context, topic);
		}
		Path csv = folder.resolve("findings.csv");
		TestApp command = app("jdbc", topic, database).with("idempotency.reconciliation.listener", "ledger");
		try (ChildProcess process = command.with("idempotency.reconciliation.output", csv).fork();
				ChildProcess complete = command.with("idempotency.reconciliation.output", folder.resolve("none.csv"))
					.with("idempotency.reconciliation.from-offset", 11)
					.fork();
				ChildProcess broken = app("unknown", topic, database)
					.with("idempotency.reconciliation.listener", "ledger")
					.fork()) {
			assertThat(process.awaitEnd()).as(() -> String.join("\n", process.lines())).isOne();
			assertThat(process.lines()).anyMatch((line) -> line.startsWith("DONE: 11 of at most 11 records"))
				.anyMatch((line) -> line.matches(" *MISSING +2 .*"))
				.noneMatch((line) -> line.contains("charging") || line.contains("runner"));
			assertThat(complete.awaitEnd()).isZero();
			assertThat(broken.awaitEnd()).isEqualTo(2);
		}
		assertThat(Files.readAllLines(csv)).hasSize(7)
			.contains(ReconciliationCsv.HEADER.strip())
			.anyMatch((line) -> line.startsWith(topic + ",0,5,")
					&& line.endsWith(",MISSING," + topic + "/" + topic + ",lost,"));
		assertThat(Kafka.committed(topic, topic, 0)).isEqualTo(CONSUMED);
	}

	@ParameterizedTest
	@ValueSource(strings = { "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "=cmd|'/c calc'!A0", "\uFF1D1",
			"\uFF0B1", "\uFF0D1", "\uFF201", " =1" })
	void textIsNoFormulaInASpreadsheet(String text) {
		assertThat(ReconciliationCsv.line(finding(text))).contains("'" + text).doesNotContain("," + text);
	}

	// A spreadsheet splits lines at another character than the comma in some countries,
	// and at a tab or a line break everywhere.
	@ParameterizedTest
	@ValueSource(strings = { ";", "; ", ";\"", "\t", "\n", "\r\n", "\n\"\"" })
	void textIsNoFormulaAfterACharacterThatMayBeginACell(String separator) {
		assertThat(ReconciliationCsv.line(finding("a" + separator + "=cmd|'/c calc'!A0"))).contains("'=cmd")
			.containsOnlyOnce("=cmd");
	}

	@ParameterizedTest
	@ValueSource(strings = { "payment-77120", "urn:a/b@c+d=e", "a - b", "a=1&b=2" })
	void keyThatIsNoFormulaIsUnchanged(String key) {
		assertThat(ReconciliationCsv.line(finding(key))).endsWith("," + key + "\r\n");
	}

	private static ReconciliationFinding finding(String text) {
		return new ReconciliationFinding("topic", 0, 5, Instant.EPOCH, ReconciliationStatus.MISSING, null, null, text);
	}

	private static TestApp app(String type, String topic, String database) {
		TestApp app = TestApp.of(ReconciledApp.class)
			.database(database)
			.with("topic", topic)
			.with("idempotency.key.on-missing", "reject");
		return type.equals("redis") ? app.redis(Servers.redis()) : app.with("idempotency.store.type", type);
	}

	// Processes some records, and commits the offsets of others by hand.
	private static void lose(ConfigurableApplicationContext context, String topic) {
		Kafka.send(topic, "done", "1");
		Kafka.send(topic, "done", "1");
		Kafka.send(topic, "fails", "4711");
		Kafka.send(topic, "refused", "refuse");
		Kafka.send(topic, "done", "other");
		await().atMost(Duration.ofSeconds(30)).until(() -> Kafka.committed(topic, topic, 0) == PROCESSED);
		MessageListenerContainer container = context.getBean(KafkaListenerEndpointRegistry.class)
			.getListenerContainer("ledger");
		container.stop();
		Kafka.send(topic, "lost", "2");
		Kafka.send(topic, "also-lost", "3");
		Kafka.send(topic, "running", "4");
		Kafka.send(topic, "stuck", "5");
		Kafka.send(topic, " ", "4711");
		Kafka.send(topic, "new", "6");
		IdempotencyStore store = context.getBean(IdempotencyStore.class);
		claim(store, IdempotencyKey.of(topic + "/" + topic, "running"), Duration.ofMinutes(5));
		claim(store, IdempotencyKey.of(topic + "/" + topic, "stuck"), Duration.ofMillis(1));
		Kafka.commit(topic, topic, CONSUMED);
	}

	private static void claim(IdempotencyStore store, IdempotencyKey key, Duration lease) {
		one(store).claim(new ClaimRequest(key, UUID.randomUUID(), null, lease, Duration.ofHours(1)));
	}

}
