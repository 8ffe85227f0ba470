/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.kill;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.ResourceLock;

import dev.idempotency.test.kill.Interruption.Kind;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link KillHarness} with a program without Kafka.
 */
@ResourceLock("processes")
class KillHarnessTests {

	private static final Duration WORK = Duration.ofMillis(2500);

	private final ChildApplication application = ChildApplication.main(SmallApp.class)
		.jvmOptions("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
		.readyWhenOutputContains(SmallApp.STARTED)
		.startTimeout(Duration.ofSeconds(60));

	private final List<String> progress = new ArrayList<>();

	private final List<Effect> effects = new CopyOnWriteArrayList<>();

	private volatile long end = System.nanoTime();

	@Test
	void reportNamesLostAndDoubledOperationsAndTheProcessesThatWereInterrupted() {
		KillReport report = harness().instances(2)
			.kills(1)
			.freezes(1, Duration.ofMillis(10))
			.terminations(1)
			.seed(42)
			.effects(() -> {
				this.effects.removeIf((effect) -> effect.key().equals("1-lost"));
				this.effects.add(0, new Effect("2-doubled", killed()));
				return this.effects;
			})
			.run();
		EffectReport found = report.effects("effects");
		assertThat(report.interruptions()).extracting(Interruption::kind)
			.containsExactlyInAnyOrder(Kind.KILLED, Kind.FROZEN, Kind.TERMINATED);
		assertThat(found.lost()).containsExactly("1-lost");
		assertThat(found.doubled()).containsOnlyKeys("2-doubled");
		assertThatExceptionOfType(AssertionError.class).isThrownBy(report::assertNoneLost)
			.withMessageContaining("1 operations were lost")
			.withMessageContaining("lost: 1-lost, sent in round 1")
			.withMessageContaining("doubled: 2-doubled, sent in round 2, 2 effects of the processes " + killed() + " (")
			.withMessageContaining("killed in round ")
			.withMessageContaining("seed 42")
			.withMessageContaining("kill-harness");
		assertThatExceptionOfType(AssertionError.class).isThrownBy(report::assertNoneDoubled);
		report.assertDoubledAtMost(1);
		found.assertDoubledOnlyByInterruptedProcesses(1);
		assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> report.assertDoubledAtMost(0));
		assertThatExceptionOfType(AssertionError.class)
			.isThrownBy(() -> found.assertDoubledOnlyByInterruptedProcesses(0));
		assertThat(this.progress).hasSizeGreaterThanOrEqualTo(4);
	}

	// The process of the first kill, from the progress.
	private long killed() {
		return this.progress.stream()
			.filter((line) -> line.contains(": killed process "))
			.map((line) -> line.replaceFirst(".*killed process (\\d+) .*", "$1"))
			.mapToLong(Long::parseLong)
			.findFirst()
			.orElseThrow();
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-5")
	void effectsThatAProgramLosesOrDoublesWhenItIsKilledAreFound(@TempDir Path folder) {
		KillHarness harness = KillHarness.of(this.application.arguments(NaiveWork.WORK, folder.toString()))
			.kills(2)
			.progress(this.progress::add)
			.traffic((round) -> {
				round.process();
				for (int i = 0; i < 6; i++) {
					round.sent(round.number() + "-" + i);
					NaiveWork.append(NaiveWork.sent(folder), round.number() + "-" + i);
				}
			})
			.pending(() -> Stream.of(NaiveWork.values())
				.mapToInt((way) -> NaiveWork.lines(NaiveWork.sent(folder)).size()
						- NaiveWork.lines(way.offsets(folder)).size())
				.sum());
		Stream.of(NaiveWork.values())
			.forEach((way) -> harness.effects(way.name(),
					() -> NaiveWork.lines(way.effects(folder)).stream().map(Effect::of).toList()));
		KillReport report = harness.run();
		assertThat(report.effects(NaiveWork.EFFECT_FIRST.name()).lost()).isEmpty();
		assertThat(report.effects(NaiveWork.EFFECT_FIRST.name()).doubled()).isNotEmpty().hasSizeLessThanOrEqualTo(2);
		assertThat(report.effects(NaiveWork.OFFSET_FIRST.name()).lost()).isNotEmpty().hasSizeLessThanOrEqualTo(2);
		assertThat(report.effects(NaiveWork.OFFSET_FIRST.name()).doubled()).isEmpty();
		report.effects(NaiveWork.PROTECTED.name()).assertNoneLost();
		report.effects(NaiveWork.PROTECTED.name()).assertNoneDoubled();
	}

	@Test
	void runWithoutWorkToInterruptFails() {
		assertThatIllegalStateException().isThrownBy(() -> harness().kills(1).pending(() -> 0).run())
			.withMessageContaining("2 of 2 rounds found no work to interrupt")
			.withMessageContaining("The seed is");
	}

	@Test
	void runFailsWhenWorkRemainsPending() {
		assertThatExceptionOfType(AssertionError.class)
			.isThrownBy(() -> harness().traffic((round) -> round.sent("key"))
				.pending(() -> 7)
				.timeout(Duration.ofMillis(300))
				.run())
			.withMessageContaining("work is still pending")
			.withMessageContaining("7 pending");
	}

	@Test
	void runFailsWithTheOutputOfAProcessThatEndsByItself() {
		ChildApplication failing = this.application.arguments(SmallApp.FAIL);
		assertThatIllegalStateException().isThrownBy(() -> harness(failing).kills(1).run())
			.withMessageContaining("has ended with status 3. Its output is in ")
			.withMessageContaining("The database is missing");
	}

	@Test
	void runFailsWhenTheTrafficFails() {
		assertThatIllegalStateException().isThrownBy(() -> harness().kills(1).traffic((round) -> {
			throw new IllegalArgumentException("No broker");
		}).run()).withMessageContaining("the traffic of round 1 has failed").havingCause().withMessage("No broker");
	}

	@Test
	void incompleteDescriptionsAreRefused() {
		assertThatIllegalStateException().isThrownBy(() -> KillHarness.of(this.application).run())
			.withMessageContaining("Set how to read the effects with 'effects'");
		assertThatIllegalStateException().isThrownBy(() -> harness().freezes(1, Duration.ofSeconds(1)).run())
			.withMessageContaining("Set at least two instances");
		assertThatIllegalArgumentException()
			.isThrownBy(() -> ChildApplication.jar(this.application.outputDirectory().resolve("missing.jar")))
			.withMessageContaining("missing.jar does not exist. Build it first");
	}

	@Test
	void processesEndWithTheirParentWhenItIsKilled() {
		try (ChildProcess parent = this.application.arguments(SmallApp.PARENT).start().awaitReady()) {
			ProcessHandle child = ProcessHandle.of(Long.parseLong(parent.lines().get(0))).orElseThrow();
			assertThat(child.isAlive()).isTrue();
			parent.kill();
			await().until(() -> !child.isAlive());
		}
	}

	// A test with a timeout interrupts its thread.
	@Test
	void allProcessesOfAGroupEndWhenAnInterruptedThreadClosesIt() {
		ProcessGroup group = new ProcessGroup(this.application, new Random());
		group.start();
		group.start();
		group.awaitReady();
		try {
			Thread.currentThread().interrupt();
			assertThatIllegalStateException().isThrownBy(group::close).withMessageContaining("Interrupted");
		}
		finally {
			Thread.interrupted();
		}
		await().until(() -> group.started().stream().noneMatch(ChildProcess::isAlive));
	}

	private KillHarness harness() {
		return harness(this.application);
	}

	// Operations take effect at once, and their work is pending for a while.
	private KillHarness harness(ChildApplication application) {
		return KillHarness.of(application).progress(this.progress::add).traffic((round) -> {
			round.process();
			for (String key : List.of("lost", "doubled", "other")) {
				round.sent(round.number() + "-" + key);
				this.effects.add(Effect.of(round.number() + "-" + key));
			}
			this.end = System.nanoTime() + WORK.toNanos();
		})
			.pending(() -> Math.max(0, Duration.ofNanos(this.end - System.nanoTime()).toMillis()))
			.effects(() -> this.effects);
	}

}
