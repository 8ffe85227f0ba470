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

import dev.idempotency.outbox.OutboxPublisher.FailureKind;
import dev.idempotency.outbox.OutboxStore.ClaimedRow;
import dev.idempotency.outbox.OutboxStore.RelayFailure;

/**
 * Publishes the messages of one claim.
 * <ol>
 * <li>Messages with different ordering keys are in flight together.</li>
 * <li>Of the messages with the same ordering key only one is in flight, and none is sent
 * after one that failed. A producer that gives a message up may have sent the next one
 * already, which would change their order.</li>
 * </ol>
 */
final class OutboxRound {

	// After this time nothing more is sent: other relays cannot claim the messages with
	// these ordering keys before the round commits.
	private static final Duration SEND_BUDGET = Duration.ofSeconds(1);

	// For a producer that reports its time-out a little late.
	private static final Duration GRACE = Duration.ofSeconds(1);

	private final OutboxPublisher publisher;

	private final OutboxRelay.Settings settings;

	private final UnavailableTopics topics;

	private final BlockingQueue<Ack> acks = new LinkedBlockingQueue<>();

	private final Map<Object, Deque<ClaimedRow>> waiting = new LinkedHashMap<>();

	private final List<Ack> published = new ArrayList<>();

	private final List<RelayFailure> failures = new ArrayList<>();

	private final List<Ack> unavailable = new ArrayList<>();

	private final Set<ClaimedRow> inFlight = Collections.newSetFromMap(new IdentityHashMap<>());

	private final Set<String> refusedTopics = new HashSet<>();

	private final long start = System.nanoTime();

	private boolean stopped;

	private boolean anyMessageSent;

	OutboxRound(OutboxPublisher publisher, OutboxRelay.Settings settings, UnavailableTopics topics) {
		this.publisher = publisher;
		this.settings = settings;
		this.topics = topics;
	}

	void run(List<ClaimedRow> rows) throws InterruptedException {
		for (ClaimedRow claimed : rows) {
			this.waiting.computeIfAbsent(claimed.row().orderingKey(), (key) -> new ArrayDeque<>()).add(claimed);
		}
		for (Deque<ClaimedRow> queue : this.waiting.values()) {
			if (isBudgetSpent()) {
				break;
			}
			sendNext(queue);
		}
		while (!this.inFlight.isEmpty()) {
			Ack ack = this.acks.poll(this.settings.sendTimeout().plus(GRACE).toNanos(), TimeUnit.NANOSECONDS);
			if (ack == null) {
				Throwable overdue = new TimeoutException("The producer did not report the outcome of a message");
				this.inFlight.forEach((claimed) -> this.unavailable.add(Ack.of(claimed, overdue)));
				this.publisher.resultsOverdue();
				return;
			}
			this.inFlight.remove(ack.claimed());
			accept(ack);
		}
	}

	private boolean isBudgetSpent() {
		return System.nanoTime() - this.start > SEND_BUDGET.toNanos();
	}

	private void sendNext(Deque<ClaimedRow> queue) {
		ClaimedRow next = queue.poll();
		if (next == null || this.stopped) {
			return;
		}
		if (next.undecodable() != null) {
			// The messages behind it in the queue are not sent either.
			this.failures.add(new RelayFailure(next, next.attempts() + 1, next.undecodable(), null));
			return;
		}
		String topic = next.row().topic();
		if (this.refusedTopics.contains(topic)) {
			// Its messages would otherwise be ahead of all others in every round.
			this.topics.fail(topic, null);
		}
		if (this.topics.isExcluded(topic)) {
			return;
		}
		long start = System.nanoTime();
		this.anyMessageSent = true;
		this.inFlight.add(next);
		CompletableFuture<?> result = this.publisher.publish(next.row()).toCompletableFuture();
		result.whenComplete((done, error) -> this.acks.add(Ack.of(next, (error != null) ? cause(error) : null)));
		if (result.isCompletedExceptionally()) {
			failedAtOnce(next, UnavailableTopics.isLong(System.nanoTime() - start));
		}
	}

	// A send blocks while the producer waits for the metadata of the topic.
	private void failedAtOnce(ClaimedRow failed, boolean blocked) {
		for (Ack ack : this.acks) {
			if (ack.claimed() == failed && ack.error() != null) {
				FailureKind kind = this.publisher.kindOf(ack.error());
				this.stopped |= blocked && kind == FailureKind.UNAVAILABLE;
				if (kind == FailureKind.TOPIC_REFUSED) {
					this.refusedTopics.add(failed.row().topic());
				}
				if (blocked && kind != FailureKind.UNAVAILABLE) {
					this.topics.fail(failed.row().topic(), null);
				}
			}
		}
	}

	private void accept(Ack ack) {
		if (ack.error() != null) {
			fail(ack, ack.error());
			return;
		}
		this.published.add(ack);
		Deque<ClaimedRow> next = this.waiting.get(ack.claimed().row().orderingKey());
		if (next != null && !isBudgetSpent()) {
			sendNext(next);
		}
	}

	private void fail(Ack ack, Throwable error) {
		ClaimedRow claimed = ack.claimed();
		String topic = claimed.row().topic();
		FailureKind kind = this.publisher.kindOf(error);
		if (kind == FailureKind.NEIGHBOUR) {
			return;
		}
		if (kind == FailureKind.UNAVAILABLE) {
			// Perhaps only this topic is unavailable.
			this.topics.fail(topic, error);
			this.unavailable.add(ack);
			return;
		}
		if (kind == FailureKind.TOPIC_REFUSED
				&& this.failures.stream().anyMatch((failure) -> isRefusalOf(topic, failure))) {
			this.topics.fail(topic, null);
		}
		int attempts = claimed.attempts() + 1;
		this.failures.add(new RelayFailure(claimed, attempts, error,
				(attempts < this.settings.maxAttempts()) ? this.settings.backOff(attempts) : null));
	}

	private static boolean isRefusalOf(String topic, RelayFailure failure) {
		return failure.claimed().undecodable() == null && failure.claimed().row().topic().equals(topic);
	}

	private static Throwable cause(Throwable error) {
		return (error instanceof CompletionException && error.getCause() != null) ? error.getCause() : error;
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
	 * The reason to consider the broker unavailable.
	 * @return the error of a message, {@code null} if the broker has answered
	 */
	@Nullable Throwable outage() {
		boolean answered = !this.published.isEmpty()
				|| this.failures.stream().anyMatch((failure) -> failure.claimed().undecodable() == null);
		return (this.unavailable.isEmpty() || answered) ? null : this.unavailable.get(0).error();
	}

	boolean isAnyMessageSent() {
		return this.anyMessageSent;
	}

	/**
	 * The producer's report about a message.
	 *
	 * @param claimed the message
	 * @param error why it failed, {@code null} if the broker has acknowledged it
	 * @param elapsed time from sending the message until the report, which may be long
	 * before the end of the round
	 */
	record Ack(ClaimedRow claimed, @Nullable Throwable error, Duration elapsed) {

		static Ack of(ClaimedRow claimed, @Nullable Throwable error) {
			return new Ack(claimed, error, claimed.elapsed());
		}

	}

}
