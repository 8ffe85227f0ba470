/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.kill;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;

import dev.idempotency.test.kill.Interruption.Kind;

/**
 * Starts an application in child processes, interrupts these under traffic, and compares
 * the operations that were sent with the effects that a query returns.
 *
 * <pre>
 * KillReport report = KillHarness.of(ChildApplication.jar(Path.of("target/orders.jar")))
 *     .traffic((round) -&gt; sendOrders(round))
 *     .pending(new ConsumerLag("localhost:9092", "orders", "orders"))
 *     .effects(EffectQuery.sql(database, "select order_id from shipment"))
 *     .kills(10)
 *     .run();
 * report.assertNoneLost();
 * report.assertNoneDoubled();
 * </pre>
 *
 * A run consists of rounds. In each round the traffic sends operations, the harness waits
 * for a random moment at which work is pending, and interrupts one process: it kills,
 * freezes or terminates it. A process that has ended is replaced at once. After the last
 * round the harness waits until no work is pending, stops all processes, and reads the
 * effects.
 * <p>
 * The harness checks its own precondition. An interruption after the last operation was
 * processed shows nothing: the round is repeated, and the run fails if this happens too
 * often. Each wait has a time limit.
 * <p>
 * A run shows that defects exist, not that there are none. The seed determines the order
 * of the interruptions, their moments in terms of pending work, and
 * {@link Round#random()}. It does not determine the scheduling of threads and processes.
 *
 * @since 0.1.0
 */
public final class KillHarness {

	/**
	 * The system property that sets the seed, to repeat a run without a change of its
	 * code.
	 */
	public static final String SEED_PROPERTY = "kill.seed";

	private static final Duration DRAIN_POLL = Duration.ofMillis(100);

	private static final int DRAIN_CHECKS = 2;

	private final ChildApplication application;

	private final Map<String, EffectQuery> effects = new LinkedHashMap<>();

	private final Map<Kind, Integer> interruptions = new EnumMap<>(Kind.class);

	private String name;

	private int instances = 1;

	private long seed = Long.getLong(SEED_PROPERTY, new Random().nextInt(Integer.MAX_VALUE));

	private Duration freeze = Duration.ZERO;

	private Duration timeout = Duration.ofMinutes(5);

	private Consumer<String> progress = System.out::println;

	private @Nullable Traffic traffic;

	private @Nullable PendingQuery pending;

	private @Nullable KeyQuery expected;

	private KillHarness(ChildApplication application) {
		this.application = application;
		this.name = application.name();
	}

	/**
	 * Create a harness for an application.
	 * @param application the application
	 * @return the harness
	 */
	public static KillHarness of(ChildApplication application) {
		return new KillHarness(application);
	}

	/**
	 * Set the name of the run, for its progress and its report.
	 * @param name the name, that of the application by default
	 * @return this
	 */
	public KillHarness name(String name) {
		this.name = name;
		return this;
	}

	/**
	 * Set the number of processes that run at a time.
	 * @param instances the number, at least 1; 1 by default
	 * @return this
	 */
	public KillHarness instances(int instances) {
		this.instances = instances;
		return this;
	}

	/**
	 * Set the seed, to repeat a run. The report contains the seed of its run.
	 * @param seed the seed, by default a random one or the system property
	 * {@value #SEED_PROPERTY}
	 * @return this
	 */
	public KillHarness seed(long seed) {
		this.seed = seed;
		return this;
	}

	/**
	 * Set what sends the operations of each round. Required.
	 * @param traffic sends operations
	 * @return this
	 */
	public KillHarness traffic(Traffic traffic) {
		this.traffic = traffic;
		return this;
	}

	/**
	 * Set a query of the operations that must take effect, for an application that stores
	 * them itself. They are added to those that the traffic has recorded.
	 * @param expected reads the keys, when no process of the application runs any more
	 * @return this
	 */
	public KillHarness expected(KeyQuery expected) {
		this.expected = expected;
		return this;
	}

	/**
	 * Set how to count the pending work. Required.
	 * @param pending counts the work that is not done. It must become 0
	 * @return this
	 */
	public KillHarness pending(PendingQuery pending) {
		this.pending = pending;
		return this;
	}

	/**
	 * Set the query of the effects. Required, if no query with a name is set.
	 * @param query reads the effects
	 * @return this
	 */
	public KillHarness effects(EffectQuery query) {
		return effects("effects", query);
	}

	/**
	 * Add a query of effects, for operations that have effects of several kinds.
	 * @param name the name of this kind, see {@link KillReport#effects(String)}
	 * @param query reads the effects
	 * @return this
	 */
	public KillHarness effects(String name, EffectQuery query) {
		this.effects.put(name, query);
		return this;
	}

	/**
	 * Set how often a process is killed with SIGKILL and replaced.
	 * @param count the number of rounds with a kill, 0 by default
	 * @return this
	 */
	public KillHarness kills(int count) {
		this.interruptions.put(Kind.KILLED, count);
		return this;
	}

	/**
	 * Set how often a process is frozen with SIGSTOP and resumed. This needs two
	 * instances or more, because otherwise no other process can take over the work.
	 * @param count the number of rounds with a freeze, 0 by default
	 * @param time for how long. Only a time that is longer than the lease and Kafka's
	 * session timeout makes the process a zombie
	 * @return this
	 */
	public KillHarness freezes(int count, Duration time) {
		this.interruptions.put(Kind.FROZEN, count);
		this.freeze = time;
		return this;
	}

	/**
	 * Set how often a process is ended with SIGTERM and replaced, as in a rolling update.
	 * @param count the number of rounds with a termination, 0 by default
	 * @return this
	 */
	public KillHarness terminations(int count) {
		this.interruptions.put(Kind.TERMINATED, count);
		return this;
	}

	/**
	 * Set the time limit of each wait: for the traffic of a round, for the moment of an
	 * interruption, and for the end of the pending work.
	 * @param timeout the limit, 5 minutes by default
	 * @return this
	 */
	public KillHarness timeout(Duration timeout) {
		this.timeout = timeout;
		return this;
	}

	/**
	 * Set what shows the progress, one line for each round.
	 * @param progress shows a line, on the standard output by default
	 * @return this
	 */
	public KillHarness progress(Consumer<String> progress) {
		this.progress = progress;
		return this;
	}

	/**
	 * Run all rounds. Without interruptions, the run has one round, in which the traffic
	 * is processed undisturbed.
	 * @return the report
	 * @throws IllegalStateException if a required setting is missing, a process ends by
	 * itself or does not start, or more interruptions came too late than were planned
	 * @throws AssertionError if work is still pending when the time limit is over
	 */
	public KillReport run() {
		RunSettings settings = settings();
		List<Kind> plan = new ArrayList<>();
		this.interruptions.forEach((kind, count) -> plan.addAll(Collections.nCopies(count, kind)));
		Random random = new Random(this.seed);
		Collections.shuffle(plan, random);
		Map<String, Integer> sent = Collections.synchronizedMap(new LinkedHashMap<>());
		this.progress.accept("%s: %d interruptions, seed %d, output of the processes in %s".formatted(this.name,
				plan.size(), this.seed, this.application.outputDirectory()));
		long start = System.nanoTime();
		try (ProcessGroup processes = new ProcessGroup(this.application, random)) {
			for (int instance = 0; instance < this.instances; instance++) {
				processes.start();
			}
			PendingCounter pending = new PendingCounter(settings.pending(), processes);
			List<Interruption> done = new Rounds(settings, processes, pending, random, sent).run(plan);
			awaitDrained(pending);
			processes.stop();
			Duration duration = Duration.ofNanos(System.nanoTime() - start);
			return report(sent, done, duration);
		}
	}

	private RunSettings settings() {
		require(this.effects.size() > 0, "how to read the effects with 'effects'");
		require(this.instances > 0, "at least one instance with 'instances'");
		if (this.interruptions.getOrDefault(Kind.FROZEN, 0) > 0) {
			require(Signals.areSupported(), "no freezes on Windows, which has no SIGSTOP. Linux and macOS have it");
			require(this.instances > 1, "at least two instances with 'instances', because another process must take "
					+ "over the work of a frozen one");
		}
		return new RunSettings(this.name, this.seed, required(this.traffic, "what sends the operations with 'traffic'"),
				required(this.pending, "how to count the pending work with 'pending'"), this.freeze, this.timeout,
				this.progress);
	}

	private <T> T required(@Nullable T value, String action) {
		require(value != null, action);
		return Objects.requireNonNull(value);
	}

	private void require(boolean met, String action) {
		if (!met) {
			throw new IllegalStateException("The kill harness '" + this.name + "' cannot run. Set " + action);
		}
	}

	private void awaitDrained(PendingCounter pending) {
		int[] drained = { 0 };
		// Twice: work may move between the places that the query counts.
		boolean met = Waiting.until(this.timeout, DRAIN_POLL, () -> {
			drained[0] = (pending.read() == 0) ? drained[0] + 1 : 0;
			return drained[0] >= DRAIN_CHECKS;
		});
		if (!met) {
			throw new AssertionError(
					"%s: work is still pending %d s after the last round (%s). Seed %d, output of the processes in %s"
						.formatted(this.name, this.timeout.toSeconds(), pending, this.seed,
								this.application.outputDirectory()),
					pending.error());
		}
	}

	private KillReport report(Map<String, Integer> sent, List<Interruption> done, Duration duration) {
		try {
			if (this.expected != null) {
				this.expected.read().forEach((key) -> sent.putIfAbsent(key, 0));
			}
			require(!sent.isEmpty(), "the operations that were sent: call 'Round.sent' for each, or use 'expected'");
			KillReport report = new KillReport(this.name, this.seed, sent, done, duration,
					this.application.outputDirectory());
			for (Map.Entry<String, EffectQuery> query : this.effects.entrySet()) {
				report.add(query.getKey(), query.getValue().read());
			}
			return report;
		}
		catch (RuntimeException ex) {
			throw ex;
		}
		catch (Exception ex) {
			throw new IllegalStateException("The operations or effects of '" + this.name + "' could not be read", ex);
		}
	}

	/**
	 * Reads keys.
	 */
	@FunctionalInterface
	public interface KeyQuery {

		/**
		 * Read the keys of the operations that must take effect.
		 * @return the keys
		 * @throws Exception if they cannot be read
		 */
		Collection<String> read() throws Exception;

	}

}
