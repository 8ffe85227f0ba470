/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.annotation.Bean;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.listener.BatchListenerFailedException;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.messaging.handler.annotation.SendTo;
import org.springframework.util.backoff.FixedBackOff;

import dev.idempotency.Idempotent;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.Mode;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@code ContainerAcknowledgments} and {@code AcknowledgmentCheck}: a record
 * that its method has not acknowledged is not completed.
 */
@Order(3)
@Tag("promise-1")
@Tag("promise-15")
@Execution(ExecutionMode.CONCURRENT)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class UnacknowledgedRecordTests {

	private static final Duration PATIENCE = Duration.ofSeconds(90);

	private static final Set<String> MOVING = Set.of("moving a", "moving b");

	private final Map<String, BatchApp> apps = new ConcurrentHashMap<>();

	@BeforeAll
	void start() {
		for (String ack : List.of("manual", "manual_immediate")) {
			this.apps.put(ack, new BatchApp(Listeners.class, "leased", "spring.kafka.listener.ack-mode=" + ack));
		}
		this.apps.put("async", new BatchApp(Listeners.class, "leased", "spring.kafka.listener.ack-mode=manual",
				"spring.kafka.listener.async-acks=true"));
		this.apps.put("outage", new BatchApp(Listeners.class, "leased", "spring.kafka.listener.ack-mode=manual"));
		this.apps.put("idle", new BatchApp(Listeners.class, "leased", "spring.kafka.listener.ack-mode=manual",
				"spring.kafka.listener.idle-between-polls=1500ms"));
		this.apps.put("transactional",
				new BatchApp(Listeners.class, "transactional", "spring.kafka.listener.ack-mode=manual"));
	}

	@AfterAll
	void stop() {
		this.apps.values().forEach(BatchApp::close);
	}

	private static void awaitState(BatchApp app, String listener, String letter, State state) {
		await().atMost(PATIENCE)
			.untilAsserted(() -> assertThat(one(app.store()).find(app.key(listener, letter))).get()
				.extracting(IdempotencyRecord::state)
				.isEqualTo(state));
	}

	@ParameterizedTest
	@ValueSource(strings = { "manual", "manual_immediate" })
	void unacknowledgedRecordIsProcessedAgainAfterARestart(String ack) {
		BatchApp app = this.apps.get(ack);
		Listeners listeners = app.listeners(Listeners.class);
		app.send("forgetful", "a");
		app.start("forgetful");
		await().atMost(PATIENCE).until(() -> listeners.runs("forgetful").size() == 1);
		awaitState(app, "forgetful", "a", State.IN_PROGRESS);
		app.stop("forgetful");
		app.start("forgetful");
		app.awaitDone("forgetful");
		assertThat(listeners.runs("forgetful")).containsExactly("a", "a");
		awaitState(app, "forgetful", "a", State.COMPLETED);
		assertThat(app.outcomes("forgetful", "a")).containsExactly(Outcome.BLOCKED, Outcome.PROCESSED);
	}

	@ParameterizedTest
	@ValueSource(strings = { "manual", "manual_immediate" })
	void acknowledgmentAfterTheMethodCompletesTheRecord(String ack) {
		BatchApp app = this.apps.get(ack);
		Listeners listeners = app.listeners(Listeners.class);
		app.send("later", "a");
		app.start("later");
		await().atMost(PATIENCE).until(() -> listeners.acknowledgments.containsKey("later a"));
		awaitState(app, "later", "a", State.IN_PROGRESS);
		listeners.acknowledgments.get("later a").acknowledge();
		assertThat(app.record("later", "a").state()).isEqualTo(State.COMPLETED);
		app.awaitDone("later");
		assertThat(listeners.runs("later")).containsExactly("a");
	}

	// The copy of a must not be blocked by a, which is acknowledged after it.
	@ParameterizedTest
	@ValueSource(strings = { "manual", "manual_immediate" })
	void acknowledgmentOfALaterRecordCompletesTheEarlierOnes(String ack) {
		BatchApp app = this.apps.get(ack);
		Listeners listeners = app.listeners(Listeners.class);
		app.complete("some", "x", null);
		app.send("some", "a a x b c");
		app.start("some");
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(app.lag("some")).isOne());
		assertThat(listeners.runs("some")).containsExactly("a", "b", "c");
		assertThat(app.record("some", "a").state()).isEqualTo(State.COMPLETED);
		assertThat(app.record("some", "b").state()).isEqualTo(State.COMPLETED);
		assertThat(app.record("some", "c").state()).isEqualTo(State.IN_PROGRESS);
		assertThat(listeners.committedBefore.get("some b")).isZero();
	}

	@ParameterizedTest
	@ValueSource(strings = { "manual excluded", "manual_immediate excluded", "manual batch-excluded" })
	void duplicateWaitsForAnUnacknowledgedRecordWithoutProtection(String kind) {
		BatchApp app = this.apps.get(kind.split(" ")[0]);
		String name = kind.split(" ")[1];
		Listeners listeners = app.listeners(Listeners.class);
		app.complete(name, "x", null);
		app.send(name, "u");
		app.start(name);
		await().atMost(PATIENCE).until(() -> listeners.acknowledgments.containsKey(name + " u"));
		app.sendMore(name, "x");
		await().atMost(PATIENCE).until(() -> app.outcomes(name, "x").contains(Outcome.DUPLICATE));
		app.stop(name);
		assertThat(app.lag(name)).isEqualTo(2);
		app.start(name);
		// The container commits an acknowledgment of this thread later than its own.
		await().atMost(PATIENCE).until(() -> Collections.frequency(app.outcomes(name, "x"), Outcome.DUPLICATE) >= 2);
		listeners.acknowledgments.get(name + " u").acknowledge();
		app.awaitDone(name);
		assertThat(listeners.runs(name)).containsExactly("u", "u");
	}

	// The copy must not wait as if another owner had its key.
	@Test
	@Tag("promise-10")
	void rejectedRecordBehindACopyIsRecovered() {
		BatchApp app = this.apps.get("manual");
		Listeners listeners = app.listeners(Listeners.class);
		app.send("batch-rejecting", "a");
		app.start("batch-rejecting");
		await().atMost(PATIENCE).until(() -> listeners.acknowledgments.containsKey("batch-rejecting a"));
		awaitState(app, "batch-rejecting", "a", State.IN_PROGRESS);
		app.send("batch-rejecting-too", "a -");
		app.start("batch-rejecting-too");
		await().atMost(PATIENCE).until(() -> listeners.recovered.contains(app.name("batch-rejecting-too")));
		listeners.acknowledgments.get("batch-rejecting a").acknowledge();
		app.awaitDone("batch-rejecting");
		assertThat(listeners.runs("batch-rejecting")).containsExactly("a");
	}

	@Test
	void outOfOrderAcknowledgmentCompletesOnlyItsRecord() {
		BatchApp app = this.apps.get("async");
		Listeners listeners = app.listeners(Listeners.class);
		app.send("later", "a b");
		app.start("later");
		await().atMost(PATIENCE).until(() -> listeners.acknowledgments.containsKey("later b"));
		awaitState(app, "later", "b", State.IN_PROGRESS);
		listeners.acknowledgments.get("later b").acknowledge();
		assertThat(app.record("later", "b").state()).isEqualTo(State.COMPLETED);
		assertThat(app.record("later", "a").state()).isEqualTo(State.IN_PROGRESS);
		listeners.acknowledgments.get("later a").acknowledge();
		assertThat(app.record("later", "a").state()).isEqualTo(State.COMPLETED);
		app.awaitDone("later");
	}

	@ParameterizedTest
	@ValueSource(strings = { "manual", "manual_immediate" })
	void unacknowledgedRecordIsProcessedAgainAfterASeek(String ack) {
		BatchApp app = this.apps.get(ack);
		Listeners listeners = app.listeners(Listeners.class);
		app.send("seeking", "a b");
		app.start("seeking");
		app.awaitDone("seeking");
		assertThat(listeners.runs("seeking")).containsExactly("a", "b", "a", "b");
		assertThat(app.record("seeking", "a").state()).isEqualTo(State.COMPLETED);
		assertThat(app.outcomes("seeking", "a")).containsExactly(Outcome.BLOCKED, Outcome.PROCESSED);
	}

	@ParameterizedTest
	@ValueSource(strings = { "manual", "manual_immediate" })
	void unacknowledgedBatchIsProcessedAgainAfterARestart(String ack) {
		BatchApp app = this.apps.get(ack);
		Listeners listeners = app.listeners(Listeners.class);
		app.send("batch-forgetful", "a b");
		app.start("batch-forgetful");
		await().atMost(PATIENCE).until(() -> listeners.runs("batch-forgetful").size() == 1);
		awaitState(app, "batch-forgetful", "b", State.IN_PROGRESS);
		app.stop("batch-forgetful");
		app.start("batch-forgetful");
		app.awaitDone("batch-forgetful");
		assertThat(listeners.runs("batch-forgetful")).containsExactly("a b", "a b");
		awaitState(app, "batch-forgetful", "a", State.COMPLETED);
		assertThat(app.outcomes("batch-forgetful", "a")).containsExactly(Outcome.BLOCKED, Outcome.PROCESSED);
	}

	@Test
	void batchIsCompletedUpToTheAcknowledgedIndex() {
		BatchApp app = this.apps.get("manual_immediate");
		Listeners listeners = app.listeners(Listeners.class);
		app.send("part", "a b c");
		app.start("part");
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(app.lag("part")).isOne());
		assertThat(app.record("part", "b").state()).isEqualTo(State.COMPLETED);
		assertThat(app.record("part", "c").state()).isEqualTo(State.IN_PROGRESS);
		app.stop("part");
		app.start("part");
		app.awaitDone("part");
		assertThat(listeners.runs("part")).containsExactly("a b c", "c");
		assertThat(app.record("part", "c").state()).isEqualTo(State.COMPLETED);
	}

	// The copy of a, and x, which is completed,
	// must not be blocked by the batch before them.
	@ParameterizedTest
	@ValueSource(strings = { "manual", "manual_immediate" })
	void acknowledgmentOfABatchCompletesItAndTheEarlierOnes(String ack) {
		BatchApp app = this.apps.get(ack);
		Listeners listeners = app.listeners(Listeners.class);
		app.complete("batch-later", "x", null);
		app.send("batch-later", "a b");
		app.start("batch-later");
		await().atMost(PATIENCE).until(() -> listeners.acknowledgments.containsKey("batch-later a b"));
		app.sendMore("batch-later", "a x c");
		await().atMost(PATIENCE).until(() -> listeners.runs("batch-later").contains("c"));
		awaitState(app, "batch-later", "c", State.IN_PROGRESS);
		assertThat(app.record("batch-later", "a").state()).isEqualTo(State.IN_PROGRESS);
		assertThat(app.lag("batch-later")).isEqualTo(5);
		listeners.acknowledgments.get("batch-later c").acknowledge();
		assertThat(app.record("batch-later", "a").state()).isEqualTo(State.COMPLETED);
		assertThat(app.record("batch-later", "b").state()).isEqualTo(State.COMPLETED);
		assertThat(app.record("batch-later", "c").state()).isEqualTo(State.COMPLETED);
		app.awaitDone("batch-later");
		assertThat(listeners.runs("batch-later")).containsExactly("a b", "c");
	}

	@ParameterizedTest
	@ValueSource(strings = { "manual", "manual_immediate" })
	void batchOfDuplicatesIsAcknowledgedAfterTheUnacknowledgedBatchBeforeIt(String ack) {
		BatchApp app = this.apps.get(ack);
		Listeners listeners = app.listeners(Listeners.class);
		app.complete("batch-copies", "x", null);
		app.send("batch-copies", "a", "b");
		app.start("batch-copies");
		await().atMost(PATIENCE).until(() -> String.join(" ", listeners.runs("batch-copies")).length() == 3);
		app.sendMore("batch-copies", "x a", "z");
		await().atMost(PATIENCE).until(() -> listeners.runs("batch-copies").contains("z"));
		awaitState(app, "batch-copies", "z", State.IN_PROGRESS);
		assertThat(Kafka.committed(app.name("batch-copies"), app.name("batch-copies"), 0)).isZero();
		listeners.acknowledgments.entrySet()
			.stream()
			.filter((entry) -> entry.getKey().startsWith("batch-copies"))
			.sorted(Map.Entry.comparingByKey())
			.forEach((entry) -> entry.getValue().acknowledge());
		app.awaitDone("batch-copies");
		assertThat(app.record("batch-copies", "a").state()).isEqualTo(State.COMPLETED);
		assertThat(listeners.runs("batch-copies")).doesNotHaveDuplicates();
	}

	@ParameterizedTest
	@ValueSource(strings = { "manual", "manual_immediate" })
	void acknowledgedRecordOfABatchIsCompletedWhileAnotherPartitionIsBlocked(String ack) {
		BatchApp app = this.apps.get(ack);
		Listeners listeners = app.listeners(Listeners.class);
		ClaimRequest other = app.hold("batch-held", "x", Duration.ofMinutes(5));
		app.send("batch-held", "a b", "x");
		app.start("batch-held");
		await().atMost(PATIENCE).until(() -> listeners.acknowledgments.containsKey("batch-held a b"));
		awaitState(app, "batch-held", "b", State.IN_PROGRESS);
		listeners.acknowledgments.get("batch-held a b").acknowledge();
		awaitState(app, "batch-held", "b", State.COMPLETED);
		one(app.store()).release(other);
		await().atMost(PATIENCE).until(() -> listeners.acknowledgments.containsKey("batch-held x"));
		listeners.acknowledgments.get("batch-held x").acknowledge();
		awaitState(app, "batch-held", "x", State.COMPLETED);
		assertThat(listeners.runs("batch-held")).containsExactly("a b", "x");
	}

	// The method was called for the other partition, and could not acknowledge.
	@Test
	@Tag("promise-8")
	void partitionOfDuplicatesIsCommittedWhileTheMethodIsBlockedAtAnother() {
		BatchApp app = this.apps.get("manual");
		Listeners listeners = app.listeners(Listeners.class);
		app.complete("batch-nested", "x", null);
		app.send("batch-nested", "x", "b");
		app.start("batch-nested");
		await().atMost(PATIENCE)
			.untilAsserted(
					() -> assertThat(Kafka.committed(app.name("batch-nested"), app.name("batch-nested"), 0)).isOne());
		assertThat(app.lag("batch-nested")).isOne();
		listeners.free = true;
		app.awaitDone("batch-nested");
		assertThat(listeners.runs("batch-nested")).containsOnly("b");
	}

	// The record a is acknowledged after c, so c must not be blocked by the copy of a.
	@Test
	@Tag("promise-2")
	@Tag("promise-8")
	void copyOfAnUnacknowledgedRecordIsADuplicateAndDoesNotBlockItsPartition() {
		BatchApp app = this.apps.get("manual");
		Listeners listeners = app.listeners(Listeners.class);
		Servers.addTopics(1, app.name("collecting-out"));
		app.send("collecting", "a", "x");
		app.start("collecting");
		await().atMost(PATIENCE).until(() -> listeners.runs("collecting").size() == 2);
		awaitState(app, "collecting", "a", State.IN_PROGRESS);
		app.sendMore("collecting", "y", "a b");
		app.send("collecting-too", "a");
		app.start("collecting-too");
		await().atMost(PATIENCE).until(() -> listeners.acknowledgments.containsKey("collecting b"));
		awaitState(app, "collecting", "b", State.IN_PROGRESS);
		app.sendMore("collecting-too", "c");
		await().atMost(PATIENCE).until(() -> listeners.acknowledgments.containsKey("collecting c"));
		assertThat(Kafka.committed(app.name("collecting-too"), app.name("collecting-too"), 0)).isZero();
		for (String letter : List.of("a", "x", "y", "b", "c")) {
			listeners.acknowledgments.get("collecting " + letter).acknowledge();
		}
		app.awaitDone("collecting");
		app.awaitDone("collecting-too");
		assertThat(listeners.runs("collecting")).containsExactlyInAnyOrder("a", "x", "y", "b", "c");
		assertThat(app.outcomes("collecting", "a")).containsExactlyInAnyOrder(Outcome.DUPLICATE, Outcome.DUPLICATE,
				Outcome.PROCESSED);
		await().atMost(PATIENCE)
			.untilAsserted(() -> assertThat(Kafka.read(app.name("collecting-out"))).extracting(ConsumerRecord::value)
				.containsExactlyInAnyOrder("a", "a", "a", "x", "y", "b", "c"));
	}

	// The original is in another partition.
	@Test
	@Tag("promise-8")
	void batchOfCopiesIsAcknowledgedAfterTheirOriginals() {
		BatchApp app = this.apps.get("manual");
		Listeners listeners = app.listeners(Listeners.class);
		app.send("batch-originals", "a");
		app.start("batch-originals");
		await().atMost(PATIENCE).until(() -> listeners.acknowledgments.containsKey("batch-originals a"));
		awaitState(app, "batch-originals", "a", State.IN_PROGRESS);
		app.send("batch-originals-too", "a", "b");
		app.start("batch-originals-too");
		await().atMost(PATIENCE).until(() -> listeners.acknowledgments.containsKey("batch-originals b"));
		await().atMost(PATIENCE).until(() -> app.outcomes("batch-originals", "a").size() == 1);
		listeners.acknowledgments.get("batch-originals b").acknowledge();
		awaitState(app, "batch-originals", "b", State.COMPLETED);
		app.stop("batch-originals-too");
		assertThat(Kafka.committed(app.name("batch-originals-too"), app.name("batch-originals-too"), 0)).isZero();
		app.start("batch-originals-too");
		await().atMost(PATIENCE).until(() -> app.outcomes("batch-originals", "a").size() == 2);
		listeners.acknowledgments.get("batch-originals a").acknowledge();
		app.awaitDone("batch-originals");
		app.awaitDone("batch-originals-too");
		assertThat(listeners.runs("batch-originals")).containsExactlyInAnyOrder("a", "b");
	}

	// Which of the records of c is the copy depends on the order of the partitions.
	@Test
	@Tag("promise-8")
	void copyInABatchIsCommittedWithItsOriginalWhileAnotherPartitionIsBlocked() {
		BatchApp app = this.apps.get("manual");
		Listeners listeners = app.listeners(Listeners.class);
		ClaimRequest other = app.hold("held", "x", Duration.ofMinutes(5));
		app.send("held-copy", "c", "c", "x");
		app.start("held-copy");
		await().atMost(PATIENCE).until(() -> listeners.acknowledgments.containsKey("held c"));
		app.awaitBlocked("held-copy");
		await().atMost(PATIENCE).until(() -> app.outcomes("held", "c").contains(Outcome.DUPLICATE));
		awaitState(app, "held", "c", State.IN_PROGRESS);
		app.stop("held-copy");
		assertThat(app.lag("held-copy")).isEqualTo(3);
		one(app.store()).release(other);
	}

	@Test
	@Tag("promise-8")
	void copyIsCommittedWithTheOriginalOfAnEarlierBatchWhileAnotherPartitionIsBlocked() {
		BatchApp app = this.apps.get("manual");
		Listeners listeners = app.listeners(Listeners.class);
		app.send("held", "d");
		app.start("held");
		await().atMost(PATIENCE).until(() -> listeners.acknowledgments.containsKey("held d"));
		awaitState(app, "held", "d", State.IN_PROGRESS);
		ClaimRequest other = app.hold("held", "y", Duration.ofMinutes(5));
		app.send("held-later", "d", "y");
		app.start("held-later");
		app.awaitBlocked("held-later");
		await().atMost(PATIENCE).until(() -> app.outcomes("held", "d").contains(Outcome.DUPLICATE));
		app.stop("held-later");
		assertThat(app.lag("held-later")).isEqualTo(2);
		app.start("held-later");
		listeners.acknowledgments.get("held d").acknowledge();
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(app.lag("held-later")).isOne());
		assertThat(listeners.runs("held")).containsOnlyOnce("d");
		one(app.store()).release(other);
	}

	@Test
	@Tag("promise-8")
	void duplicateBehindAnUnacknowledgedRecordIsAcknowledgedWithItAlthoughAnotherPartitionIsBlocked() {
		BatchApp app = this.apps.get("manual");
		Listeners listeners = app.listeners(Listeners.class);
		app.complete("held", "k", null);
		ClaimRequest other = app.hold("held", "z", Duration.ofMinutes(5));
		app.send("held-duplicate", "e k", "z");
		app.start("held-duplicate");
		await().atMost(PATIENCE).until(() -> listeners.acknowledgments.containsKey("held e"));
		app.awaitBlocked("held-duplicate");
		awaitState(app, "held", "e", State.IN_PROGRESS);
		assertThat(app.lag("held-duplicate")).isEqualTo(3);
		listeners.acknowledgments.get("held e").acknowledge();
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(app.lag("held-duplicate")).isOne());
		assertThat(listeners.runs("held")).containsOnlyOnce("e");
		one(app.store()).release(other);
	}

	// Most of the copies are delivered before the record that fails.
	@ParameterizedTest
	@ValueSource(strings = { "manual", "manual_immediate", "idle" })
	@Tag("promise-8")
	void copiesBeforeTheFailedRecordOfABatchAreCommittedWithTheirOriginal(String ack) {
		BatchApp app = this.apps.get(ack);
		Listeners listeners = app.listeners(Listeners.class);
		app.send("held-original", "g");
		app.start("held-original");
		await().atMost(PATIENCE).until(() -> listeners.acknowledgments.containsKey("held g"));
		awaitState(app, "held", "g", State.IN_PROGRESS);
		app.send("held-failing", "g", "g", "g", "g", "g", "f");
		app.start("held-failing");
		await().atMost(PATIENCE).until(() -> listeners.recovered.contains(app.name("held-failing")));
		app.stop("held-failing");
		assertThat(app.lag("held-failing")).isEqualTo(5);
		app.start("held-failing");
		listeners.acknowledgments.get("held g").acknowledge();
		app.awaitDone("held-failing");
		assertThat(listeners.runs("held")).containsOnlyOnce("g").contains("f");
	}

	// The first nack is at the record behind the copies, unless it is delivered first.
	@ParameterizedTest
	@ValueSource(strings = { "manual", "manual_immediate" })
	@Tag("promise-8")
	void copiesBeforeANackAreCommittedWithTheirOriginal(String ack) {
		BatchApp app = this.apps.get(ack);
		Listeners listeners = app.listeners(Listeners.class);
		app.send("held-nacked", "h");
		app.start("held-nacked");
		await().atMost(PATIENCE).until(() -> listeners.acknowledgments.containsKey("held h"));
		awaitState(app, "held", "h", State.IN_PROGRESS);
		app.send("held-nacking", "h", "h", "h", "h", "h", "n");
		app.start("held-nacking");
		await().atMost(PATIENCE).until(() -> listeners.runs("held").stream().filter("n"::equals).count() == 2);
		app.stop("held-nacking");
		assertThat(app.lag("held-nacking")).isEqualTo(6);
		listeners.acknowledging = true;
		app.start("held-nacking");
		listeners.acknowledgments.get("held h").acknowledge();
		app.awaitDone("held-nacking");
		assertThat(listeners.runs("held")).containsOnlyOnce("h");
	}

	// The error handler retries f once, and then recovers it.
	@ParameterizedTest
	@ValueSource(strings = { "manual failing", "manual_immediate failing", "manual batch-failing",
			"manual_immediate batch-failing" })
	void recoveryOfALaterRecordCompletesTheEarlierOnesThatItsOffsetPasses(String kind) {
		BatchApp app = this.apps.get(kind.split(" ")[0]);
		String name = kind.split(" ")[1];
		Listeners listeners = app.listeners(Listeners.class);
		app.send(name, "a");
		app.start(name);
		await().atMost(PATIENCE).until(() -> listeners.runs(name).size() == 1);
		awaitState(app, name, "a", State.IN_PROGRESS);
		app.sendMore(name, "f b");
		await().atMost(PATIENCE).until(() -> listeners.runs(name).contains("b C"));
		assertThat(listeners.runs(name).stream().filter((run) -> run.startsWith("f"))).containsExactly("f P", "f P");
		assertThat(listeners.recovered).contains(app.name(name));
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(app.lag(name)).isOne());
	}

	// The container ignores a nack in a retry that the error handler makes in its loop.
	@ParameterizedTest
	@ValueSource(strings = { "manual", "manual_immediate", "transactional" })
	void nackInARetryOfABatchRedeliversTheRecordsFromItsIndexOn(String kind) {
		BatchApp app = this.apps.get(kind);
		app.send("nack-failing", "a b c");
		app.start("nack-failing");
		app.awaitDone("nack-failing");
		for (String letter : List.of("a", "b", "c")) {
			awaitState(app, "nack-failing", letter, State.COMPLETED);
		}
		assertThat(app.listeners(Listeners.class).runs("nack-failing")).startsWith("a b c", "a b c").endsWith("b c");
	}

	@Test
	void recordOfARevokedPartitionIsProcessedElsewhereBeforeItsLeaseExpires() {
		BatchApp app = this.apps.get("manual");
		Listeners listeners = app.listeners(Listeners.class);
		app.send("moving", "a", "b");
		app.start("moving");
		await().atMost(PATIENCE).until(() -> listeners.acknowledgments.keySet().containsAll(MOVING));
		awaitState(app, "moving", "a", State.IN_PROGRESS);
		awaitState(app, "moving", "b", State.IN_PROGRESS);
		try (BatchApp second = app.another(Listeners.class, "leased", "spring.kafka.listener.ack-mode=manual")) {
			Listeners others = second.listeners(Listeners.class);
			second.start("moving");
			await().atMost(PATIENCE).until(() -> others.runs("moving").size() == 1);
			String moved = others.runs("moving").element();
			// This acknowledgment is stale.
			listeners.acknowledgments.get("moving " + moved).acknowledge();
			awaitState(app, "moving", moved, State.IN_PROGRESS);
			others.acknowledgments.get("moving " + moved).acknowledge();
			awaitState(app, "moving", moved, State.COMPLETED);
			// The other record may be redelivered to its consumer.
			await().atMost(PATIENCE).untilAsserted(() -> {
				MOVING.forEach((name) -> listeners.acknowledgments.get(name).acknowledge());
				assertThat(app.lag("moving")).isZero();
			});
			assertThat(others.runs("moving")).containsExactly(moved);
		}
	}

	@Test
	void resultOfAnAsynchronousMethodCompletesAndAcknowledgesItsRecord() {
		BatchApp app = this.apps.get("manual");
		Listeners listeners = app.listeners(Listeners.class);
		app.send("answering", "a b");
		app.start("answering");
		await().atMost(PATIENCE).until(() -> listeners.runs("answering").size() == 2);
		awaitState(app, "answering", "b", State.COMPLETED);
		assertThat(app.record("answering", "a").state()).isEqualTo(State.IN_PROGRESS);
		assertThat(app.lag("answering")).isEqualTo(2);
		listeners.answer.complete(null);
		app.awaitDone("answering");
		assertThat(app.record("answering", "a").state()).isEqualTo(State.COMPLETED);
		assertThat(listeners.runs("answering")).containsExactly("a", "b");
	}

	@Test
	@Tag("promise-11")
	void offsetIsCommittedWhenTheStoreHasRecordedTheCompletion() {
		BatchApp app = this.apps.get("outage");
		Listeners listeners = app.listeners(Listeners.class);
		List<String> names = List.of("later", "batch-later");
		for (String name : names) {
			app.send(name, "a");
			app.start(name);
			await().atMost(PATIENCE).until(() -> listeners.acknowledgments.containsKey(name + " a"));
			awaitState(app, name, "a", State.IN_PROGRESS);
		}
		listeners.jdbc.execute("ALTER TABLE idempotency_record RENAME TO unavailable");
		try {
			names.forEach((name) -> listeners.acknowledgments.get(name + " a").acknowledge());
			assertThat(app.pending()).isEqualTo(2);
			// These records would have been acknowledged by now.
			app.send("plain", "a");
			app.start("plain");
			app.awaitDone("plain");
			names.forEach((name) -> assertThat(app.lag(name)).isOne());
		}
		finally {
			listeners.jdbc.execute("ALTER TABLE unavailable RENAME TO idempotency_record");
		}
		for (String name : names) {
			app.awaitDone(name);
			assertThat(app.record(name, "a").state()).isEqualTo(State.COMPLETED);
			assertThat(listeners.runs(name)).containsExactly("a");
		}
	}

	@Test
	@Tag("promise-5")
	void transactionOfAnUnacknowledgedRecordIsRolledBackWithoutUsingAttempts() {
		BatchApp app = this.apps.get("transactional");
		Listeners listeners = app.listeners(Listeners.class);
		try (Logs logs = Logs.about("UnacknowledgedRecordTests.Listeners.forgetful")) {
			app.send("forgetful", "a b");
			app.start("forgetful");
			app.awaitDone("forgetful");
			assertThat(logs.messages("WARN")).singleElement()
				.asString()
				.contains("without acknowledging", app.name("forgetful"), "offset 0", "leased mode");
		}
		assertThat(listeners.runs("forgetful")).containsExactly("a", "a", "b", "b");
		assertThat(listeners.effects("forgetful")).containsExactly("a", "b");
		assertThat(listeners.recovered).isEmpty();
		assertThat(app.record("forgetful", "a").state()).isEqualTo(State.COMPLETED);
	}

	@Test
	@Tag("promise-5")
	void transactionOfABatchCommitsTheAcknowledgedRecords() {
		BatchApp app = this.apps.get("transactional");
		Listeners listeners = app.listeners(Listeners.class);
		app.send("part", "a b c");
		app.start("part");
		app.awaitDone("part");
		assertThat(listeners.runs("part")).containsExactly("a b c", "a b", "c");
		assertThat(listeners.effects("part")).containsExactly("a", "b", "c");
		assertThat(listeners.recovered).isEmpty();
	}

	static class Listeners {

		private final Map<String, Queue<String>> runs = new ConcurrentHashMap<>();

		private final Map<String, Acknowledgment> acknowledgments = new ConcurrentHashMap<>();

		private final Map<String, Long> committedBefore = new ConcurrentHashMap<>();

		private final CompletableFuture<Void> answer = new CompletableFuture<>();

		private final Queue<String> recovered = new ConcurrentLinkedQueue<>();

		private final JdbcTemplate jdbc;

		volatile boolean free;

		volatile boolean acknowledging;

		Listeners(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
			jdbc.execute("CREATE TABLE IF NOT EXISTS effect (number serial, name text, value text)");
		}

		@Bean
		DefaultErrorHandler errorHandler() {
			DefaultErrorHandler handler = new DefaultErrorHandler((record, error) -> this.recovered.add(record.topic()),
					new FixedBackOff(0, 1));
			handler.setCommitRecovered(true);
			handler.setBackOffFunction(
					(record, error) -> record.topic().endsWith("failing") ? null : new FixedBackOff(0, 0));
			return handler;
		}

		Queue<String> runs(String name) {
			return this.runs.computeIfAbsent(name, (unused) -> new ConcurrentLinkedQueue<>());
		}

		List<String> effects(String name) {
			return this.jdbc.queryForList("SELECT value FROM effect WHERE name = ? ORDER BY number", String.class,
					name);
		}

		private void effect(String name, String value) {
			this.jdbc.update("INSERT INTO effect (name, value) VALUES (?, ?)", name, value);
		}

		@Idempotent(scope = "${prefix}-forgetful")
		@KafkaListener(id = "${prefix}-forgetful", topics = "${prefix}-forgetful")
		void forgetful(String value, Acknowledgment acknowledgment) {
			boolean first = !runs("forgetful").contains(value);
			runs("forgetful").add(value);
			effect("forgetful", value);
			if (!first) {
				acknowledgment.acknowledge();
			}
		}

		@Idempotent(scope = "${prefix}-later")
		@KafkaListener(id = "${prefix}-later", topics = "${prefix}-later")
		void later(String value, Acknowledgment acknowledgment) {
			runs("later").add(value);
			this.acknowledgments.put("later " + value, acknowledgment);
		}

		@Idempotent(scope = "${prefix}-excluded", condition = "#payload != 'u'")
		@KafkaListener(id = "${prefix}-excluded", topics = "${prefix}-excluded")
		void excluded(String value, Acknowledgment acknowledgment) {
			runs("excluded").add(value);
			this.acknowledgments.put("excluded " + value, acknowledgment);
		}

		@Idempotent(scope = "${prefix}-batch-excluded", condition = "#payload != 'u'")
		@KafkaListener(id = "${prefix}-batch-excluded", topics = "${prefix}-batch-excluded", batch = "true")
		void batchExcluded(List<String> values, Acknowledgment acknowledgment) {
			later("batch-excluded", values, acknowledgment);
		}

		@Idempotent(scope = "${prefix}-batch-rejecting", onMissingKey = MissingKeyPolicy.REJECT, lease = "2m")
		@KafkaListener(id = "${prefix}-batch-rejecting", topics = "${prefix}-batch-rejecting", batch = "true")
		@KafkaListener(id = "${prefix}-batch-rejecting-too", topics = "${prefix}-batch-rejecting-too", batch = "true")
		void batchRejecting(List<String> values, Acknowledgment acknowledgment) {
			later("batch-rejecting", values, acknowledgment);
		}

		@Idempotent(scope = "${prefix}-collecting", lease = "2m")
		@KafkaListener(id = "${prefix}-collecting", topics = "${prefix}-collecting")
		@KafkaListener(id = "${prefix}-collecting-too", topics = "${prefix}-collecting-too")
		@SendTo("${prefix}-collecting-out")
		String collecting(String value, Acknowledgment acknowledgment) {
			runs("collecting").add(value);
			this.acknowledgments.put("collecting " + value, acknowledgment);
			return value;
		}

		@Idempotent(scope = "${prefix}-moving", lease = "2m")
		@KafkaListener(id = "${prefix}-moving", topics = "${prefix}-moving", properties = "metadata.max.age.ms=2000")
		void moving(String value, Acknowledgment acknowledgment) {
			runs("moving").add(value);
			this.acknowledgments.put("moving " + value, acknowledgment);
		}

		// Acknowledges a too early, and b never.
		@Idempotent(scope = "${prefix}-answering", mode = Mode.LEASED)
		@KafkaListener(id = "${prefix}-answering", topics = "${prefix}-answering")
		CompletableFuture<Void> answering(String value, Acknowledgment acknowledgment) {
			runs("answering").add(value);
			if (value.equals("a")) {
				acknowledgment.acknowledge();
				return this.answer;
			}
			return CompletableFuture.completedFuture(null);
		}

		@Idempotent(scope = "${prefix}-some")
		@KafkaListener(id = "${prefix}-some", topics = "${prefix}-some")
		void some(ConsumerRecord<String, String> record, Acknowledgment acknowledgment) {
			runs("some").add(record.value());
			if (record.value().equals("b")) {
				this.committedBefore.put("some b", Kafka.committed(record.topic(), record.topic(), 0));
				acknowledgment.acknowledge();
			}
		}

		@Idempotent(scope = "${prefix}-seeking")
		@KafkaListener(id = "${prefix}-seeking", topics = "${prefix}-seeking")
		void seeking(ConsumerRecord<String, String> record, Acknowledgment acknowledgment, Consumer<?, ?> consumer) {
			boolean again = runs("seeking").contains(record.value());
			runs("seeking").add(record.value());
			if (again) {
				acknowledgment.acknowledge();
			}
			else if (record.value().equals("b")) {
				consumer.seek(new TopicPartition(record.topic(), 0), 0);
			}
		}

		@Idempotent(scope = "${prefix}-batch-forgetful")
		@KafkaListener(id = "${prefix}-batch-forgetful", topics = "${prefix}-batch-forgetful", batch = "true")
		void batchForgetful(List<String> values, Acknowledgment acknowledgment) {
			runs("batch-forgetful").add(String.join(" ", values));
			if (runs("batch-forgetful").size() > 1) {
				acknowledgment.acknowledge();
			}
		}

		@Idempotent(scope = "${prefix}-batch-later")
		@KafkaListener(id = "${prefix}-batch-later", topics = "${prefix}-batch-later", batch = "true")
		void batchLater(List<String> values, Acknowledgment acknowledgment) {
			later("batch-later", values, acknowledgment);
		}

		@Idempotent(scope = "${prefix}-batch-held")
		@KafkaListener(id = "${prefix}-batch-held", topics = "${prefix}-batch-held", batch = "true")
		void batchHeld(List<String> values, Acknowledgment acknowledgment) {
			later("batch-held", values, acknowledgment);
		}

		@Idempotent(scope = "${prefix}-held")
		@KafkaListener(id = "${prefix}-held", topics = "${prefix}-held", batch = "true")
		@KafkaListener(id = "${prefix}-held-copy", topics = "${prefix}-held-copy", batch = "true")
		@KafkaListener(id = "${prefix}-held-later", topics = "${prefix}-held-later", batch = "true")
		@KafkaListener(id = "${prefix}-held-duplicate", topics = "${prefix}-held-duplicate", batch = "true")
		@KafkaListener(id = "${prefix}-held-original", topics = "${prefix}-held-original", batch = "true")
		@KafkaListener(id = "${prefix}-held-failing", topics = "${prefix}-held-failing", batch = "true")
		@KafkaListener(id = "${prefix}-held-nacked", topics = "${prefix}-held-nacked", batch = "true")
		@KafkaListener(id = "${prefix}-held-nacking", topics = "${prefix}-held-nacking", batch = "true")
		void held(List<String> values, Acknowledgment acknowledgment) {
			later("held", values, acknowledgment);
			if (values.contains("f")) {
				throw new BatchListenerFailedException("fails", 0);
			}
			if (values.contains("n") && this.acknowledging) {
				acknowledgment.acknowledge();
			}
			else if (values.contains("n")) {
				acknowledgment.nack(0, Duration.ZERO);
			}
		}

		@Idempotent(scope = "${prefix}-batch-nested")
		@KafkaListener(id = "${prefix}-batch-nested", topics = "${prefix}-batch-nested", batch = "true")
		void batchNested(List<String> values, Acknowledgment acknowledgment) {
			runs("batch-nested").add(String.join(" ", values));
			if (!this.free) {
				throw new OperationInProgressException("nested", Duration.ofMillis(50));
			}
			acknowledgment.acknowledge();
		}

		@Idempotent(scope = "${prefix}-batch-copies")
		@KafkaListener(id = "${prefix}-batch-copies", topics = "${prefix}-batch-copies", batch = "true")
		void batchCopies(List<String> values, Acknowledgment acknowledgment) {
			later("batch-copies", values, acknowledgment);
		}

		@Idempotent(scope = "${prefix}-batch-originals")
		@KafkaListener(id = "${prefix}-batch-originals", topics = "${prefix}-batch-originals", batch = "true")
		@KafkaListener(id = "${prefix}-batch-originals-too", topics = "${prefix}-batch-originals-too", batch = "true")
		void batchOriginals(List<String> values, Acknowledgment acknowledgment) {
			later("batch-originals", values, acknowledgment);
		}

		@Idempotent(scope = "${prefix}-failing")
		@KafkaListener(id = "${prefix}-failing", topics = "${prefix}-failing")
		void failing(ConsumerRecord<String, String> record, Acknowledgment acknowledgment) {
			if (isFailing("failing", record)) {
				throw new IllegalStateException("fails");
			}
		}

		@Idempotent(scope = "${prefix}-batch-failing")
		@KafkaListener(id = "${prefix}-batch-failing", topics = "${prefix}-batch-failing", batch = "true")
		void batchFailing(List<ConsumerRecord<String, String>> records, Acknowledgment acknowledgment) {
			if (isFailing("batch-failing", records.get(0))) {
				throw new BatchListenerFailedException("fails", 0);
			}
		}

		@Idempotent(scope = "${prefix}-nack-failing")
		@KafkaListener(id = "${prefix}-nack-failing", topics = "${prefix}-nack-failing", batch = "true")
		void nackFailing(List<String> values, Acknowledgment acknowledgment) {
			Queue<String> runs = runs("nack-failing");
			runs.add(String.join(" ", values));
			if (values.size() < 3) {
				acknowledgment.acknowledge();
			}
			else if (runs.size() == 2) {
				acknowledgment.nack(1, Duration.ZERO);
			}
			else {
				throw new IllegalStateException("fails");
			}
		}

		// Notes the state of the first record.
		private boolean isFailing(String name, ConsumerRecord<String, String> record) {
			List<String> states = this.jdbc.queryForList(
					"SELECT state FROM idempotency_record WHERE scope = ? AND key = 'a'", String.class, record.topic());
			runs(name).add(record.value() + " " + String.join("", states));
			return record.value().equals("f");
		}

		@KafkaListener(id = "${prefix}-plain", topics = "${prefix}-plain")
		void plain(String value, Acknowledgment acknowledgment) {
			acknowledgment.acknowledge();
		}

		private void later(String name, List<String> values, Acknowledgment acknowledgment) {
			runs(name).add(String.join(" ", values));
			this.acknowledgments.put(name + " " + String.join(" ", values), acknowledgment);
		}

		@Idempotent(scope = "${prefix}-part")
		@KafkaListener(id = "${prefix}-part", topics = "${prefix}-part", batch = "true")
		void part(List<String> values, Acknowledgment acknowledgment) {
			runs("part").add(String.join(" ", values));
			values.forEach((value) -> effect("part", value));
			if (values.size() == 3) {
				acknowledgment.acknowledge(1);
			}
			else {
				acknowledgment.acknowledge();
			}
		}

	}

}
