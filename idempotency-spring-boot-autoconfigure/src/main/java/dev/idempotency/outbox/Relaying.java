package dev.idempotency.outbox;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import dev.idempotency.outbox.OutboxListener.Outcome;

/**
 * The work of a relay: claim, publish, record, one round at a time. While the broker or
 * the database does not answer the rounds become rare, and try one message each.
 */
final class Relaying {

	private static final Log logger = LogFactory.getLog(Relaying.class);

	// The clocks of the database and of this host agree on durations only.
	private static final Duration TOLERANCE = Duration.ofSeconds(1);

	private final OutboxStore store;

	private final OutboxPublisher publisher;

	private final RelaySettings settings;

	private final OutboxListener listener;

	private final TroubledTopics troubled = new TroubledTopics(System::nanoTime);

	private final Outage outage;

	Relaying(OutboxStore store, OutboxPublisher publisher, RelaySettings settings, OutboxListener listener) {
		this.store = store;
		this.publisher = publisher;
		this.settings = settings;
		this.listener = listener;
		this.outage = new Outage(store.table(), settings);
	}

	/**
	 * Publish what is due.
	 * @return how long to wait for more
	 */
	Duration round() {
		return round((rows) -> true);
	}

	/**
	 * Publish what was sent until now. It ends when all of it is published or on its way
	 * elsewhere, when the broker or the database does not answer, or when the time is
	 * over; what is sent meanwhile is the business of other relays.
	 */
	void drain() {
		long stop = System.nanoTime();
		boolean more = true;
		while (more && System.nanoTime() - stop < this.settings.stopTimeout().toNanos()) {
			more = round((rows) -> rows.stream().anyMatch((claimed) -> isBefore(stop, claimed))).isZero();
		}
	}

	private static boolean isBefore(long stop, ClaimedRow claimed) {
		return claimed.claimedAt() - claimed.age().toNanos() - stop < TOLERANCE.toNanos();
	}

	private Duration round(Predicate<List<ClaimedRow>> wanted) {
		Duration left = this.outage.left();
		if (left.compareTo(Duration.ZERO) > 0) {
			return left;
		}
		try (OutboxClaim claim = this.store.claim(this.outage.isOn() ? 1 : this.settings.batchSize(),
				this.troubled.names())) {
			List<ClaimedRow> rows = claim.rows();
			if (rows.isEmpty()) {
				return nothing();
			}
			if (!wanted.test(rows)) {
				return this.settings.pollInterval();
			}
			OutboxRound round = new OutboxRound(this.publisher, this.settings, this.troubled);
			round.run(rows);
			claim.settle(round.published().stream().map(Ack::claimed).toList(), round.failures());
			tell(round);
			return learn(round);
		}
		catch (InterruptedException ex) {
			// Somebody else's, or the end: the loop clears it when it pauses.
			Thread.currentThread().interrupt();
			return this.settings.pollInterval();
		}
		catch (RuntimeException ex) {
			return this.outage.ofDatabase(ex);
		}
	}

	private Duration nothing() {
		if (this.outage.isOfBroker()) {
			// All that waits has been tried in vain, or somebody else is trying it: the
			// broker has not answered.
			this.troubled.retry();
			return this.outage.pause();
		}
		this.outage.end();
		return this.troubled.pause(this.settings.pollInterval());
	}

	private Duration learn(OutboxRound round) {
		if (!round.hasSent() && this.outage.isOfBroker()) {
			// A row that cannot be decoded says nothing about the broker.
			return Duration.ZERO;
		}
		Set<String> inVain = topics(round.unavailable());
		if (round.outage() == null) {
			this.outage.end();
		}
		else if (!this.troubled.explain(inVain)) {
			return this.outage.ofBroker(round.outage());
		}
		this.troubled.settle(this.store.table(), topics(round.published()), inVain);
		return Duration.ZERO;
	}

	private static Set<String> topics(List<Ack> acks) {
		return acks.stream().map((ack) -> ack.claimed().row().topic()).collect(Collectors.toSet());
	}

	private void tell(OutboxRound round) {
		round.published().forEach((ack) -> tell(ack, Outcome.PUBLISHED));
		round.unavailable().forEach((ack) -> tell(ack, Outcome.UNAVAILABLE));
		for (RelayFailure failure : round.failures()) {
			ClaimedRow claimed = failure.claimed();
			if (failure.retryAfter() == null) {
				logger.error(((claimed.undecodable() != null) ? "The row of the " + claimed.row() + " cannot be decoded"
						: "The broker has refused " + claimed.row() + " " + failure.attempts() + " times")
						+ "; it is set aside, and later messages with its topic and key wait unless "
						+ "'idempotency.outbox.on-refused' is 'skip'. Fix the reason and have it published, or discard "
						+ "it, at the actuator endpoint 'idempotencyoutbox'", failure.error());
				tell(Ack.of(claimed, failure.error()), Outcome.SET_ASIDE);
			}
			else {
				logger.warn(
						"The broker has refused " + claimed.row() + " " + failure.attempts()
								+ " times; it is tried again, and set aside after " + this.settings.maxAttempts(),
						failure.error());
				tell(Ack.of(claimed, failure.error()), Outcome.REFUSED);
			}
		}
	}

	private void tell(Ack ack, Outcome outcome) {
		this.listener.attempted(ack.claimed().row(), outcome, ack.elapsed());
	}

}
