/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.ExceptionCauses;
import dev.idempotency.outbox.OutboxPublisher.FailureKind;
import dev.idempotency.outbox.OutboxRun.Ack;
import dev.idempotency.outbox.OutboxStore.ClaimedRow;
import dev.idempotency.outbox.OutboxStore.RelayFailure;

/**
 * Publishes the messages of one claim.
 * <ol>
 * <li>Messages with different ordering keys are in flight together.</li>
 * <li>A publisher that keeps the order of a partition gets messages with the same
 * ordering key one after the other, up to a limit in bytes for all messages. If one of
 * them fails, the round is abandoned before a later one is sent. Otherwise, only one of
 * them is in flight.</li>
 * <li>After a failed message, none with its ordering key is sent in this round.</li>
 * </ol>
 */
final class OutboxRound {

	private static final Log logger = LogFactory.getLog(OutboxRound.class);

	// After this time nothing more is sent: other relays cannot claim the messages with
	// these ordering keys before the round commits.
	private static final Duration SEND_BUDGET = Duration.ofSeconds(1);

	// For a producer that reports its timeout a little late.
	private static final Duration GRACE = Duration.ofSeconds(1);

	// A send that takes longer has waited for the producer.
	private static final Duration LONG = Duration.ofMillis(200);

	// The estimated size of the headers of a message.
	private static final int HEADERS = 200;

	private final OutboxPublisher publisher;

	private final OutboxRelay.Settings settings;

	private final UnavailableTopics topics;

	private final RefusingTopics refusing;

	// Processes the result of a message, on the thread of the relay.
	private final BlockingQueue<Runnable> results = new LinkedBlockingQueue<>();

	private final List<Ack> published = new ArrayList<>();

	private final List<RelayFailure> failures = new ArrayList<>();

	private final List<Ack> unavailable = new ArrayList<>();

	private final Set<String> refusedTopics = new HashSet<>();

	private long start;

	// The runs of which a message may be published.
	private final Set<OutboxRun> ready = new LinkedHashSet<>();

	private int inFlight;

	private long bytesInFlight;

	// A result that arrives later must not abandon the next round.
	private volatile boolean overdue;

	private boolean stopped;

	private @Nullable Ack abandoned;

	// Whether a message has failed for a reason of its own.
	private boolean explained;

	private boolean anyMessageSent;

	OutboxRound(OutboxPublisher publisher, OutboxRelay.Settings settings, UnavailableTopics topics,
			RefusingTopics refusing) {
		this.publisher = publisher;
		this.settings = settings;
		this.topics = topics;
		this.refusing = refusing;
	}

	void run(List<ClaimedRow> rows) throws InterruptedException {
		Map<Object, List<ClaimedRow>> byKey = new LinkedHashMap<>();
		for (ClaimedRow claimed : rows) {
			byKey.computeIfAbsent(claimed.row().orderingKey(), (key) -> new ArrayList<>()).add(claimed);
			if (claimed.attempts() > 0) {
				this.refusing.add(claimed.row().topic());
			}
		}
		List<OutboxRun> runs = byKey.values().stream().map(OutboxRun::new).toList();
		this.publisher.beginRound();
		this.start = System.nanoTime();
		this.ready.addAll(runs);
		publishReady();
		while (this.inFlight > 0) {
			Runnable result = this.results.poll(this.settings.sendTimeout().plus(GRACE).toNanos(),
					TimeUnit.NANOSECONDS);
			if (result == null) {
				Throwable overdue = new TimeoutException("The producer did not report the outcome of a message");
				runs.stream()
					.filter((run) -> !run.isIdle() && !run.isOver())
					.forEach((run) -> this.unavailable.add(Ack.of(run.first(), overdue)));
				this.overdue = true;
				this.publisher.resultsOverdue();
				return;
			}
			result.run();
			publishReady();
		}
		if (this.abandoned != null && !this.explained) {
			// The next round would otherwise begin without a pause.
			this.unavailable.add(this.abandoned);
		}
	}

	// Messages that wait in the producer must not reach their timeout there, while the
	// broker is slow. The messages of a topic that refuses messages are published one by
	// one, so that a refusal does not abandon the round.
	private void publishReady() {
		int max = this.publisher.maxBytesInFlight();
		while (!this.ready.isEmpty() && System.nanoTime() - this.start <= SEND_BUDGET.toNanos()
				&& (max == 0 || this.bytesInFlight < max)) {
			OutboxRun run = this.ready.iterator().next();
			boolean more = publishNext(run) && max > 0 && !this.refusing.contains(run.topic());
			if (!more) {
				this.ready.remove(run);
			}
		}
	}

	private static int size(OutboxRow row) {
		byte[] key = row.key();
		byte[] payload = row.payload();
		return HEADERS + ((key != null) ? key.length : 0) + ((payload != null) ? payload.length : 0);
	}

	private boolean publishNext(OutboxRun run) {
		ClaimedRow next = run.peek();
		if (next == null || this.stopped) {
			return false;
		}
		if (next.undecodable() != null) {
			if (run.isIdle()) {
				run.end();
				this.failures.add(new RelayFailure(next, next.attempts() + 1, next.undecodable(), null));
			}
			return false;
		}
		String topic = next.row().topic();
		if (this.refusedTopics.contains(topic)) {
			// Its messages would otherwise be ahead of all others in every round.
			this.topics.fail(topic, null);
		}
		if (this.topics.isExcluded(topic)) {
			return false;
		}
		int index = run.give();
		return index >= 0 && publish(run, index, next);
	}

	private boolean publish(OutboxRun run, int index, ClaimedRow next) {
		long start = System.nanoTime();
		this.anyMessageSent = true;
		this.inFlight++;
		this.bytesInFlight += size(next.row());
		CompletableFuture<?> sent = this.publisher.publish(next.row()).toCompletableFuture();
		sent.whenComplete((done, error) -> {
			if (error != null && !this.overdue && run.fail(index)) {
				this.publisher.abandon();
			}
			Ack ack = Ack.of(next, (error != null) ? ExceptionCauses.ofStage(error) : null);
			this.results.add(() -> accept(run, index, ack));
		});
		if (sent.isCompletedExceptionally()) {
			failedAtOnce(next.row().topic(), ExceptionCauses.ofStage(sent.handle((done, error) -> error).join()),
					System.nanoTime() - start > LONG.toNanos());
			return false;
		}
		return true;
	}

	// A send blocks while the producer waits for the metadata of the topic.
	private void failedAtOnce(String topic, Throwable error, boolean blocked) {
		FailureKind kind = this.publisher.kindOf(error);
		this.stopped |= kind == FailureKind.ABANDONED || (blocked && kind == FailureKind.UNAVAILABLE);
		if (kind == FailureKind.TOPIC_REFUSED) {
			this.refusedTopics.add(topic);
		}
		if (blocked && kind != FailureKind.UNAVAILABLE && kind != FailureKind.ABANDONED) {
			this.topics.fail(topic, null);
		}
	}

	// The outcomes are processed in the order of the messages: a message that cannot be
	// sent fails at once, while earlier ones are in flight.
	private void accept(OutboxRun run, int index, Ack accepted) {
		this.inFlight--;
		this.bytesInFlight -= size(accepted.claimed().row());
		run.add(index, accepted);
		for (Ack ack = run.next(); ack != null; ack = run.next()) {
			Throwable error = ack.error();
			if (error == null) {
				if (run.isOver()) {
					logger.error("The broker has acknowledged the " + ack.claimed().row() + " although an earlier "
							+ "message with the same topic and key has failed, so that their order is lost. Report this "
							+ "error to the maintainers of the library");
				}
				this.published.add(ack);
			}
			else {
				fail(ack, error, run.isOver());
				run.end();
			}
		}
		if (run.isIdle() && run.peek() != null) {
			this.ready.add(run);
		}
	}

	private void fail(Ack ack, Throwable error, boolean isRunOver) {
		ClaimedRow claimed = ack.claimed();
		String topic = claimed.row().topic();
		FailureKind kind = this.publisher.kindOf(error);
		if (kind == FailureKind.ABANDONED) {
			this.abandoned = ack;
			return;
		}
		this.explained = true;
		if (kind != FailureKind.UNAVAILABLE) {
			// In the next round, the messages of the topic are sent one by one: this one
			// is not counted if a message before it has the same key and was abandoned.
			this.refusing.add(topic);
		}
		if (isRunOver) {
			return;
		}
		if (kind == FailureKind.UNAVAILABLE) {
			// Perhaps only this topic is unavailable.
			this.topics.fail(topic, error);
			this.unavailable.add(ack);
			return;
		}
		if (kind == FailureKind.TOPIC_REFUSED && this.failures.stream()
			.map(RelayFailure::claimed)
			.anyMatch((failed) -> failed.undecodable() == null && failed.row().topic().equals(topic))) {
			this.topics.fail(topic, null);
		}
		int attempts = claimed.attempts() + 1;
		this.failures.add(new RelayFailure(claimed, attempts, error,
				(attempts < this.settings.maxAttempts()) ? this.settings.backOff(attempts) : null));
	}

	List<Ack> published() {
		return this.published;
	}

	List<RelayFailure> failures() {
		return this.failures;
	}

	List<Ack> unavailable() {
		return this.unavailable;
	}

	@Nullable Throwable outage() {
		boolean answered = !this.published.isEmpty()
				|| this.failures.stream().anyMatch((failure) -> failure.claimed().undecodable() == null);
		return (this.unavailable.isEmpty() || answered) ? null : this.unavailable.get(0).error();
	}

	boolean isAnyMessageSent() {
		return this.anyMessageSent;
	}

}
