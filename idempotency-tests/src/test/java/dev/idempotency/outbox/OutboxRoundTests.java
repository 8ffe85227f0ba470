/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

import org.assertj.core.api.InstanceOfAssertFactories;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

import dev.idempotency.outbox.OutboxStore.ClaimedRow;
import dev.idempotency.testsupport.Logs;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link OutboxRound}.
 */
class OutboxRoundTests {

	private static final Duration SLOW = Duration.ofMillis(800);

	private static final OutboxRelay.Settings SETTINGS = new OutboxRelay.Settings(10, Duration.ofSeconds(1),
			Duration.ofSeconds(5), 3, Duration.ofSeconds(5), Duration.ofSeconds(10), 2);

	private final RefusingTopics refusing = new RefusingTopics();

	private static ClaimedRow row(String topic) {
		return row(topic, null, topic, 0);
	}

	private static ClaimedRow row(String topic, @Nullable String key, String name, int attempts) {
		return new ClaimedRow(new OutboxRow(UUID.randomUUID(), topic, (key != null) ? key.getBytes() : null, null,
				List.of(), name, topic, name, topic), attempts, Duration.ZERO, System.nanoTime(), null);
	}

	private OutboxRound round(OutboxPublisher publisher, ClaimedRow... rows) throws InterruptedException {
		OutboxRound round = new OutboxRound(publisher, SETTINGS, new UnavailableTopics("outbox", System::nanoTime),
				this.refusing);
		round.run(List.of(rows));
		return round;
	}

	private static List<String> published(OutboxRound round) {
		return round.published().stream().map((ack) -> ack.claimed().row().idempotencyKey()).toList();
	}

	private static List<String> failed(OutboxRound round) {
		return round.failures().stream().map((failure) -> failure.claimed().row().idempotencyKey()).toList();
	}

	@Test
	void durationOfAMessageEndsWithItsOwnAcknowledgment() throws InterruptedException {
		OutboxRound round = round(new Publisher(), row("fast"), row("slow"));
		assertThat(round.published()).extracting((ack) -> ack.claimed().row().topic()).containsExactly("fast", "slow");
		// The round reports both only when it ends.
		assertThat(round.published().get(0).elapsed()).isLessThan(SLOW);
		assertThat(round.published().get(1).elapsed()).isGreaterThanOrEqualTo(SLOW);
	}

	@Test
	void failedMessageAbandonsTheRoundAndOnlyTheFailedMessageCounts() throws InterruptedException {
		Pipeline publisher = new Pipeline("a1 +", "a2 refused", "a3 refused", "b1 +", "b2 abandoned", "b3 abandoned");
		OutboxRound round = round(publisher, row("t", "a", "a1", 0), row("t", "a", "a2", 0), row("t", "a", "a3", 0),
				row("t", "b", "b1", 0), row("t", "b", "b2", 0), row("t", "b", "b3", 0));
		assertThat(publisher.log).containsSubsequence("a1", "a2", "a3", "b1", "b2", "b3", "abandon");
		assertThat(published(round)).containsExactly("a1", "b1");
		assertThat(failed(round)).containsExactly("a2");
		assertThat(round.unavailable()).isEmpty();
	}

	@Test
	void refusedMessageCountsAlsoIfItsNeighbourHasTheSameKey() throws InterruptedException {
		OutboxRound round = round(new Pipeline("a1 abandoned", "a2 refused", "a3 abandoned"), row("t", "a", "a1", 0),
				row("t", "a", "a2", 0), row("t", "a", "a3", 0));
		assertThat(failed(round)).isEmpty();
		Pipeline next = new Pipeline("a1 +", "a2 refused");
		round = round(next, row("t", "a", "a1", 0), row("t", "a", "a2", 0), row("t", "a", "a3", 0));
		assertThat(next.log).containsExactly("a1", "(a1)", "a2", "(a2)");
		assertThat(published(round)).containsExactly("a1");
		assertThat(failed(round)).containsExactly("a2");
	}

	// Otherwise, the relay would start the next round without a pause.
	@Test
	void roundInWhichNoMessageFailsForAReasonOfItsOwnIsAnOutage() throws InterruptedException {
		OutboxRound round = round(new Pipeline("a1 abandoned", "b1 abandoned"), row("t", "a", "a1", 0),
				row("t", "b", "b1", 0));
		assertThat(round.outage()).isNotNull();
		round = round(new Pipeline("a1 abandoned", "b1 refused"), row("t", "a", "a1", 0), row("t", "b", "b1", 0));
		assertThat(round.outage()).isNull();
		assertThat(round.unavailable()).isEmpty();
	}

	@Test
	void failedLastMessageAbandonsNothing() throws InterruptedException {
		Pipeline publisher = new Pipeline("a1 +", "a2 refused", "b1 +");
		OutboxRound round = round(publisher, row("t", "a", "a1", 0), row("t", "a", "a2", 0), row("t", "b", "b1", 0));
		assertThat(publisher.log).doesNotContain("abandon");
		assertThat(published(round)).containsExactly("a1", "b1");
		assertThat(failed(round)).containsExactly("a2");
	}

	@Test
	void messagesOfATopicThatRefusesMessagesAreSentOneByOne() throws InterruptedException {
		Pipeline publisher = new Pipeline("a1 refused", "a2 +", "b1 +", "b2 +");
		OutboxRound round = round(publisher, row("t", "a", "a1", 1), row("t", "a", "a2", 0), row("t", "b", "b1", 0),
				row("t", "b", "b2", 0));
		assertThat(publisher.log).containsExactly("a1", "b1", "(a1)", "(b1)", "b2", "(b2)");
		assertThat(published(round)).containsExactly("b1", "b2");
		assertThat(failed(round)).containsExactly("a1");
		// The refused message is not in the next claim.
		publisher = new Pipeline("b3 +", "b4 +");
		round(publisher, row("t", "b", "b3", 0), row("t", "b", "b4", 0));
		assertThat(publisher.log).containsExactly("b3", "(b3)", "b4", "(b4)");
	}

	@Test
	void messageThatCannotBeSentDoesNotCountWhenAnEarlierOneFailsLater() throws InterruptedException {
		Pipeline publisher = new Pipeline("a1 unavailable", "a2 at once", "a3 +");
		OutboxRound round = round(publisher, row("t", "a", "a1", 0), row("t", "a", "a2", 0), row("t", "a", "a3", 0));
		assertThat(publisher.log).doesNotContain("a3");
		assertThat(round.published()).isEmpty();
		assertThat(round.failures()).isEmpty();
		assertThat(round.unavailable()).singleElement()
			.extracting((ack) -> ack.claimed().row().idempotencyKey())
			.isEqualTo("a1");
	}

	@Test
	void acknowledgmentAfterAFailureIsReportedAsLossOfOrder() throws InterruptedException {
		Pipeline publisher = new Pipeline("a1 refused", "a2 +");
		String topic = "breach";
		try (Logs logs = Logs.about(topic)) {
			OutboxRound round = round(publisher, row(topic, "a", "a1", 0), row(topic, "a", "a2", 0));
			assertThat(published(round)).containsExactly("a2");
			assertThat(failed(round)).containsExactly("a1");
			assertThat(logs.messages("ERROR")).singleElement(InstanceOfAssertFactories.STRING)
				.contains("to breach although an earlier message", "order is lost");
		}
	}

	@Test
	void messagesInFlightAreLimitedByTheirSize() throws InterruptedException {
		Pipeline publisher = new Pipeline("a1 +", "a2 +", "a3 +", "a4 +", "b1 +");
		publisher.maxBytes = 400;
		OutboxRound round = round(publisher, row("t", "a", "a1", 0), row("t", "a", "a2", 0), row("t", "a", "a3", 0),
				row("t", "a", "a4", 0), row("t", "b", "b1", 0));
		assertThat(publisher.log).startsWith("a1", "a2", "(a1)")
			.containsSubsequence("(a1)", "a3")
			.containsSubsequence("(a2)", "a4");
		assertThat(published(round)).containsExactly("a1", "a2", "a3", "a4", "b1");
	}

	/**
	 * Reports scripted outcomes in the order of the messages, on one thread.
	 */
	private static final class Pipeline implements OutboxPublisher {

		private final List<String> log = new CopyOnWriteArrayList<>();

		private final Map<String, String> outcomes;

		private int maxBytes = Integer.MAX_VALUE;

		private final Executor thread = CompletableFuture.delayedExecutor(200, TimeUnit.MILLISECONDS,
				Executors.newSingleThreadExecutor());

		Pipeline(String... outcomes) {
			this.outcomes = Arrays.stream(outcomes)
				.map((outcome) -> outcome.split(" ", 2))
				.collect(Collectors.toMap((parts) -> parts[0], (parts) -> parts[1]));
		}

		@Override
		public int maxBytesInFlight() {
			return this.maxBytes;
		}

		@Override
		public void abandon() {
			this.log.add("abandon");
		}

		@Override
		public CompletionStage<?> publish(OutboxRow row) {
			String name = row.idempotencyKey();
			this.log.add(name);
			String outcome = this.outcomes.get(name);
			CompletableFuture<Void> result = new CompletableFuture<>();
			if (outcome.equals("at once")) {
				result.completeExceptionally(new IllegalStateException("refused"));
				return result;
			}
			this.thread.execute(() -> {
				this.log.add("(" + name + ")");
				if (outcome.equals("+")) {
					result.complete(null);
				}
				else {
					result.completeExceptionally(new IllegalStateException(outcome));
				}
			});
			return result;
		}

		@Override
		public FailureKind kindOf(Throwable error) {
			return FailureKind.valueOf(String.valueOf(error.getMessage()).toUpperCase(Locale.ROOT));
		}

	}

	/**
	 * Acknowledges messages to the topic 'slow' late.
	 */
	private static final class Publisher implements OutboxPublisher {

		@Override
		public CompletionStage<?> publish(OutboxRow row) {
			CompletableFuture<Void> answer = new CompletableFuture<>();
			return row.topic().equals("slow") ? answer.completeOnTimeout(null, SLOW.toMillis(), TimeUnit.MILLISECONDS)
					: CompletableFuture.completedFuture(null);
		}

		@Override
		public FailureKind kindOf(Throwable error) {
			return FailureKind.UNAVAILABLE;
		}

	}

}
