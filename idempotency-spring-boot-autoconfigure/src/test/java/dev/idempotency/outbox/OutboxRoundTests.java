package dev.idempotency.outbox;

import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;

import dev.idempotency.outbox.OutboxStore.ClaimedRow;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link OutboxRound}.
 */
class OutboxRoundTests {

	private static final Duration SLOW = Duration.ofMillis(800);

	private static ClaimedRow row(String topic) {
		return new ClaimedRow(
				new OutboxRow(UUID.randomUUID(), topic, null, null, List.of(), "key", topic, topic, topic), 0,
				Duration.ZERO, System.nanoTime());
	}

	@Test
	void durationOfAMessageEndsWithItsOwnAcknowledgement() throws InterruptedException {
		OutboxRelay.Settings settings = new OutboxRelay.Settings(10, Duration.ofSeconds(1), Duration.ofSeconds(5), 3,
				Duration.ofSeconds(5), Duration.ofSeconds(10));
		OutboxRound round = new OutboxRound(new Publisher(), settings,
				new UnavailableTopics("outbox", System::nanoTime));
		round.run(List.of(row("fast"), row("slow")));
		assertThat(round.published()).extracting((ack) -> ack.claimed().row().topic()).containsExactly("fast", "slow");
		// The round reports both only when it ends.
		assertThat(round.published().get(0).elapsed()).isLessThan(SLOW);
		assertThat(round.published().get(1).elapsed()).isGreaterThanOrEqualTo(SLOW);
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
