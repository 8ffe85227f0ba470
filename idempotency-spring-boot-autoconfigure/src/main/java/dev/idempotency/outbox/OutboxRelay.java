/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Collectors;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.Internal;
import dev.idempotency.outbox.OutboxObserver.PublishOutcome;
import dev.idempotency.outbox.OutboxStore.ClaimedRow;
import dev.idempotency.outbox.OutboxStore.RelayFailure;
import dev.idempotency.template.Observers;

/**
 * Publishes the messages of an outbox while the application runs. Any number of instances
 * may run a relay for the same outbox.
 * <ol>
 * <li>The relay makes a round when it is woken and at each poll interval: it claims
 * messages, sends them, waits for the answers of the broker and records the outcomes.
 * </li>
 * <li>While there is a backlog, a second thread makes rounds as well: the database then
 * works for one round while the broker works for the other. Two threads are like two
 * relays: they lock different ordering keys.</li>
 * <li>While the broker or the database is unavailable, rounds become rare and try one
 * message each.</li>
 * <li>A relay that is stopped publishes the messages that were sent before, for
 * {@link Settings#stopTimeout()} at most, and waits for the answers to messages in
 * flight.</li>
 * </ol>
 *
 * @since 0.1.0
 */
@Internal
public final class OutboxRelay extends OutboxLoop {

	// Clocks of the database and of this host measure durations a little differently.
	private static final Duration TOLERANCE = Duration.ofSeconds(1);

	private static final Log logger = LogFactory.getLog(OutboxRelay.class);

	private final OutboxStore store;

	private final Settings settings;

	private final List<OutboxObserver> observers;

	private final Outage outage;

	private final Worker worker;

	// The second thread, if there is one.
	private final List<Helper> helpers;

	/**
	 * Create a relay.
	 * @param store the outbox
	 * @param publisher sends the messages
	 * @param settings the settings
	 * @param observers the observers to notify
	 */
	public OutboxRelay(OutboxStore store, OutboxPublisher publisher, Settings settings,
			List<OutboxObserver> observers) {
		super("idempotency-outbox-relay", settings.stopTimeout().plus(settings.sendTimeout()).plus(GRACE));
		this.store = store;
		this.settings = settings;
		this.observers = List.copyOf(observers);
		this.outage = new Outage(store.table(), settings::backOff);
		OutboxPublisher other = (settings.threads() > 1) ? publisher.another() : null;
		this.helpers = (other != null) ? List.of(new Helper(other)) : List.of();
		this.worker = new Worker(publisher, (backlog) -> this.helpers.forEach((helper) -> helper.help(backlog)));
	}

	@Override
	public void start() {
		this.helpers.forEach(Helper::start);
		super.start();
	}

	@Override
	public void stop() {
		this.helpers.forEach(Helper::requestStop);
		super.stop();
		this.helpers.forEach(Helper::stop);
	}

	@Override
	protected Duration step() {
		return this.worker.round((rows) -> true);
	}

	@Override
	void finish() {
		try {
			publishSentMessages();
		}
		finally {
			this.worker.publisher.relayStopped();
		}
	}

	// Ends when a round finds no message of before the stop, when the broker or the
	// database is unavailable, or at the timeout. Other relays publish later messages.
	private void publishSentMessages() {
		long stop = System.nanoTime();
		boolean more = true;
		while (more && left(stop).compareTo(Duration.ZERO) > 0) {
			List<Helper> last = this.helpers.stream().filter((helper) -> !helper.isEnded()).toList();
			more = this.worker
				.round((rows) -> rows.stream()
					.anyMatch((row) -> row.claimedAt() - row.age().toNanos() - stop < TOLERANCE.toNanos()))
				.isZero();
			if (!more && !last.isEmpty()) {
				// The messages behind its last round are left to this thread.
				last.forEach((helper) -> helper.awaitEnd(left(stop)));
				more = true;
			}
		}
	}

	private Duration left(long stop) {
		return this.settings.stopTimeout().minusNanos(System.nanoTime() - stop);
	}

	/**
	 * The settings of a relay.
	 *
	 * @param batchSize approximate number of messages that the relay claims at once, 1 to
	 * 10000
	 * @param pollInterval longest time between two claims
	 * @param sendTimeout timeout for the publication of a message, 100 ms to 2 minutes
	 * @param maxAttempts number of refusals after which a message becomes a dead letter
	 * @param maxBackOff longest pause between two attempts, during an outage and after a
	 * refusal; 250 ms or more
	 * @param stopTimeout how long a relay that is stopped publishes messages that were
	 * sent before; with zero it only waits for the answers to messages in flight
	 * @param threads number of threads that publish a backlog, 1 or 2
	 */
	public record Settings(int batchSize, Duration pollInterval, Duration sendTimeout, int maxAttempts,
			Duration maxBackOff, Duration stopTimeout, int threads) {

		private static final Duration MIN_BACK_OFF = Duration.ofMillis(250);

		// The database ends the transaction of a claim after three minutes.
		private static final Duration MAX_SEND_TIMEOUT = Duration.ofMinutes(2);

		private static final int MAX_DOUBLINGS = 16;

		public Settings {
			check(batchSize >= 1 && batchSize <= 10_000, "batch-size", batchSize, "1 to 10000");
			check(pollInterval.toMillis() > 0, "poll-interval", pollInterval, "a millisecond or more");
			check(sendTimeout.toMillis() >= 100 && sendTimeout.compareTo(MAX_SEND_TIMEOUT) <= 0, "send-timeout",
					sendTimeout, "100 ms to 2 minutes");
			check(maxAttempts > 0, "max-attempts", maxAttempts, "1 or more");
			check(maxBackOff.compareTo(MIN_BACK_OFF) >= 0, "max-back-off", maxBackOff, "250 ms or more");
			check(!stopTimeout.isNegative(), "stop-timeout", stopTimeout, "zero or more");
			check(threads == 1 || threads == 2, "threads", threads, "1 or 2");
		}

		private static void check(boolean condition, String property, Object value, String range) {
			IdempotencyConfigurationException.check(condition,
					"'idempotency.outbox." + property + "' is " + value + ".",
					"Set 'idempotency.outbox." + property + "' to " + range + ".");
		}

		// Doubles with each failure.
		Duration backOff(int failures) {
			Duration doubled = MIN_BACK_OFF.multipliedBy(1L << Math.min(Math.max(failures, 0), MAX_DOUBLINGS));
			return (doubled.compareTo(this.maxBackOff) < 0) ? doubled : this.maxBackOff;
		}

	}

	/**
	 * Makes the rounds of one thread of a relay: it claims messages, publishes them and
	 * records the outcomes. It pauses while the broker or the database is unavailable.
	 */
	private final class Worker {

		private final OutboxPublisher publisher;

		private final Consumer<Boolean> backlog;

		private final UnavailableTopics topics = new UnavailableTopics(OutboxRelay.this.store.table(),
				System::nanoTime);

		private final RefusingTopics refusing = new RefusingTopics();

		Worker(OutboxPublisher publisher, Consumer<Boolean> backlog) {
			this.publisher = publisher;
			this.backlog = backlog;
		}

		Duration round(Predicate<List<ClaimedRow>> wanted) {
			long start = System.nanoTime();
			Duration left = OutboxRelay.this.outage.left();
			if (left.compareTo(Duration.ZERO) > 0) {
				return left;
			}
			OutboxRound round = new OutboxRound(this.publisher, OutboxRelay.this.settings, this.topics, this.refusing);
			try (OutboxStore.Claim claim = OutboxRelay.this.store.claim(
					OutboxRelay.this.outage.isOn() ? 1 : OutboxRelay.this.settings.batchSize(),
					this.topics.excluded())) {
				List<ClaimedRow> rows = claim.rows();
				this.backlog.accept(rows.size() > OutboxRelay.this.settings.batchSize() / 2);
				if (rows.isEmpty()) {
					return pauseWithoutMessages(start);
				}
				if (!wanted.test(rows)) {
					return OutboxRelay.this.settings.pollInterval();
				}
				round.run(rows);
				claim.settle(round.published().stream().map(OutboxRun.Ack::claimed).toList(), round.failures());
			}
			catch (InterruptedException ex) {
				// The loop clears the flag when it pauses.
				Thread.currentThread().interrupt();
				return OutboxRelay.this.settings.pollInterval();
			}
			catch (RuntimeException ex) {
				return OutboxRelay.this.outage.ofDatabase(start, ex);
			}
			// An observer may need the connection that the claim has returned.
			report(round);
			return pauseAfter(round, start);
		}

		private Duration pauseWithoutMessages(long start) {
			if (OutboxRelay.this.outage.isOfBroker()) {
				// The messages are excluded or held by another relay, so the broker
				// has still not answered.
				this.topics.retryAll();
				return OutboxRelay.this.outage.pause();
			}
			OutboxRelay.this.outage.end(start);
			return this.topics.pause(OutboxRelay.this.settings.pollInterval());
		}

		private Duration pauseAfter(OutboxRound round, long start) {
			if (!round.isAnyMessageSent() && OutboxRelay.this.outage.isOfBroker()) {
				// A row that cannot be decoded shows nothing about the broker.
				return Duration.ZERO;
			}
			Set<String> unavailable = topics(round.unavailable());
			if (round.outage() == null) {
				OutboxRelay.this.outage.end(start);
			}
			else if (!this.topics.explain(unavailable)) {
				return OutboxRelay.this.outage.ofBroker(start, round.outage());
			}
			this.topics.update(topics(round.published()), unavailable);
			return Duration.ZERO;
		}

		private static Set<String> topics(List<OutboxRun.Ack> acks) {
			return acks.stream().map((ack) -> ack.claimed().row().topic()).collect(Collectors.toSet());
		}

		private void report(OutboxRound round) {
			round.published().forEach((ack) -> report(ack, PublishOutcome.PUBLISHED));
			round.unavailable().forEach((ack) -> report(ack, PublishOutcome.UNAVAILABLE));
			for (RelayFailure failure : round.failures()) {
				ClaimedRow claimed = failure.claimed();
				boolean dead = failure.retryAfter() == null;
				if (dead) {
					logger.error(((claimed.undecodable() != null)
							? "The row of the " + claimed.row() + " cannot be decoded"
							: "The broker has refused the " + claimed.row() + " " + failure.attempts() + " times")
							+ ". The message is a dead letter now, and later messages with its topic and key are blocked "
							+ "unless 'idempotency.outbox.on-dead-letter' is 'skip'. Fix the cause and retry the message, or "
							+ "discard it, at the actuator endpoint 'idempotencyoutbox'", failure.error());
				}
				else {
					logger.warn("The broker has refused the " + claimed.row() + " " + failure.attempts()
							+ " times; it is retried, and becomes a dead letter after "
							+ OutboxRelay.this.settings.maxAttempts() + " refusals", failure.error());
				}
				report(OutboxRun.Ack.of(claimed, failure.error()),
						dead ? PublishOutcome.DEAD_LETTER : PublishOutcome.REFUSED);
			}
		}

		private void report(OutboxRun.Ack ack, PublishOutcome outcome) {
			Observers.notify(OutboxRelay.this.observers,
					(observer) -> observer.attempted(ack.claimed().row(), outcome, ack.elapsed()));
		}

	}

	/**
	 * The second thread. It makes rounds while they find many messages, and then waits
	 * until the first thread has a backlog again.
	 */
	private final class Helper extends OutboxLoop {

		// With one hot key, only one thread finds messages.
		private static final int MAX_SKIPPED = 64;

		private final Worker worker;

		private volatile boolean wanted;

		private volatile boolean found;

		// Only the thread of this loop uses it.
		private boolean backlog;

		// Only the thread of the relay uses these two.
		private int skipped;

		private int skip;

		Helper(OutboxPublisher publisher) {
			super("idempotency-outbox-relay-2", OutboxRelay.this.settings.sendTimeout().plus(GRACE));
			this.worker = new Worker(publisher, (backlog) -> this.backlog = backlog);
		}

		// A new backlog may have other keys than the previous one.
		void help(boolean backlog) {
			if (this.found || !backlog) {
				this.skip = 0;
			}
			if (backlog && this.skipped++ >= this.skip) {
				this.skipped = 0;
				this.skip = Math.min(2 * this.skip + 1, MAX_SKIPPED);
				this.found = false;
				this.wanted = true;
				wake();
			}
		}

		@Override
		protected Duration step() {
			if (!this.wanted) {
				return UNTIL_WOKEN;
			}
			this.wanted = false;
			this.backlog = false;
			Duration pause = this.worker.round((rows) -> true);
			if (this.backlog && pause.isZero()) {
				this.found = true;
				this.wanted = true;
				return Duration.ZERO;
			}
			// The first thread may have skipped messages behind those of this round.
			OutboxRelay.this.wake();
			return UNTIL_WOKEN;
		}

		@Override
		void finish() {
			this.worker.publisher.relayStopped();
		}

	}

}
