package dev.idempotency.outbox;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import org.jspecify.annotations.Nullable;

import dev.idempotency.outbox.OutboxPublisher.Failed;

/**
 * Publishes the messages of one claim. Of those with the same topic and key only one is
 * on its way at a time, and none is sent after one that failed: a producer that gives one
 * up may have sent the next, and their order would be lost. All others are on their way
 * together.
 */
final class OutboxRound {

	// So long after its beginning nothing more is sent: others wait for the commit.
	private static final Duration BUDGET = Duration.ofSeconds(1);

	// For a producer that tells a little late.
	private static final Duration GRACE = Duration.ofSeconds(1);

	private final OutboxPublisher publisher;

	private final RelaySettings settings;

	private final TroubledTopics troubled;

	private final BlockingQueue<Ack> acks = new LinkedBlockingQueue<>();

	private final Map<Object, Deque<ClaimedRow>> waiting = new LinkedHashMap<>();

	private final List<Ack> published = new ArrayList<>();

	private final List<RelayFailure> failures = new ArrayList<>();

	private final List<Ack> unavailable = new ArrayList<>();

	private final Set<ClaimedRow> inFlight = Collections.newSetFromMap(new IdentityHashMap<>());

	private final Set<String> refusedTopics = new HashSet<>();

	private final long start = System.nanoTime();

	private boolean stopped;

	private boolean sent;

	OutboxRound(OutboxPublisher publisher, RelaySettings settings, TroubledTopics troubled) {
		this.publisher = publisher;
		this.settings = settings;
		this.troubled = troubled;
	}

	void run(List<ClaimedRow> rows) throws InterruptedException {
		for (ClaimedRow claimed : rows) {
			this.waiting.computeIfAbsent(claimed.row().orderedWith(), (key) -> new ArrayDeque<>()).add(claimed);
		}
		for (Deque<ClaimedRow> queue : this.waiting.values()) {
			if (isOver()) {
				break;
			}
			sendNext(queue);
		}
		while (!this.inFlight.isEmpty()) {
			Ack ack = this.acks.poll(this.settings.sendTimeout().plus(GRACE).toNanos(), TimeUnit.NANOSECONDS);
			if (ack == null) {
				Throwable silence = new TimeoutException("The producer does not tell what came of a message");
				this.inFlight.forEach((claimed) -> this.unavailable.add(Ack.of(claimed, silence)));
				this.publisher.silent();
				return;
			}
			this.inFlight.remove(ack.claimed());
			accept(ack);
		}
	}

	private void accept(Ack ack) {
		if (ack.error() != null) {
			fail(ack.claimed(), ack.error());
			return;
		}
		this.published.add(ack);
		Deque<ClaimedRow> next = this.waiting.get(ack.claimed().row().orderedWith());
		if (next != null && !isOver()) {
			sendNext(next);
		}
	}

	private boolean isOver() {
		return System.nanoTime() - this.start > BUDGET.toNanos();
	}

	private void sendNext(Deque<ClaimedRow> queue) {
		ClaimedRow next = queue.poll();
		if (next == null || this.stopped) {
			return;
		}
		if (next.undecodable() != null) {
			// What follows it with its key is not sent, either.
			this.failures.add(new RelayFailure(next, next.attempts() + 1, next.undecodable(), null));
			return;
		}
		if (this.refusedTopics.contains(next.row().topic())) {
			// There is more of it, which would be in front of all others again and again.
			this.troubled.add(next.row().topic(), null);
		}
		if (this.troubled.contains(next.row().topic())) {
			return;
		}
		long start = System.nanoTime();
		this.sent = true;
		this.inFlight.add(next);
		CompletableFuture<?> answer = this.publisher.publish(next.row()).toCompletableFuture();
		answer.whenComplete((done, error) -> this.acks.add(Ack.of(next, (error != null) ? cause(error) : null)));
		if (answer.isCompletedExceptionally()) {
			learnFrom(next, TroubledTopics.isLong(System.nanoTime() - start));
		}
	}

	// A send that blocks has waited for what the broker knows about the topic.
	private void learnFrom(ClaimedRow failed, boolean blocked) {
		for (Ack ack : this.acks) {
			if (ack.claimed() == failed && ack.error() != null) {
				Failed meaning = this.publisher.meaning(ack.error());
				this.stopped |= blocked && meaning == Failed.UNAVAILABLE;
				if (meaning == Failed.TOPIC_REFUSED) {
					this.refusedTopics.add(failed.row().topic());
				}
				if (blocked && meaning != Failed.UNAVAILABLE) {
					this.troubled.add(failed.row().topic(), null);
				}
			}
		}
	}

	private void fail(ClaimedRow claimed, Throwable error) {
		Failed meaning = this.publisher.meaning(error);
		if (meaning == Failed.NEIGHBOUR) {
			return;
		}
		if (meaning == Failed.UNAVAILABLE) {
			// It may be the only topic that is in trouble.
			this.troubled.add(claimed.row().topic(), error);
			this.unavailable.add(Ack.of(claimed, error));
			return;
		}
		if (meaning == Failed.TOPIC_REFUSED && this.failures.stream().anyMatch((other) -> isOf(claimed, other))) {
			this.troubled.add(claimed.row().topic(), null);
		}
		int attempts = claimed.attempts() + 1;
		this.failures.add(new RelayFailure(claimed, attempts, error,
				(attempts < this.settings.maxAttempts()) ? this.settings.backOff(attempts) : null));
	}

	private static boolean isOf(ClaimedRow claimed, RelayFailure other) {
		return other.claimed().undecodable() == null && other.claimed().row().topic().equals(claimed.row().topic());
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

	/**
	 * Why the broker is taken to be unavailable.
	 * @return the error, {@code null} if it answers
	 */
	@Nullable Throwable outage() {
		return (this.unavailable.isEmpty() || brokerAnswers()) ? null : this.unavailable.get(0).requiredError();
	}

	private boolean brokerAnswers() {
		return !this.published.isEmpty()
				|| this.failures.stream().anyMatch((failure) -> failure.claimed().undecodable() == null);
	}

	/**
	 * Whether the broker was asked for anything.
	 * @return whether a message was sent
	 */
	boolean hasSent() {
		return this.sent;
	}

	private static Throwable cause(Throwable error) {
		return (error instanceof CompletionException && error.getCause() != null) ? error.getCause() : error;
	}

}
