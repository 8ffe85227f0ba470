package dev.idempotency.outbox;

import java.time.Duration;
import java.util.List;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.outbox.OutboxListener.Outcome;

/**
 * The work of a relay: claim, publish, record, one round at a time. While the broker or
 * the database does not answer the rounds become rare, and try one message each.
 */
final class Relaying {

	private static final Log logger = LogFactory.getLog(Relaying.class);

	private final OutboxStore store;

	private final OutboxPublisher publisher;

	private final RelaySettings settings;

	private final OutboxListener listener;

	private final TroubledTopics troubled = new TroubledTopics();

	private int outages;

	private long retryAt;

	Relaying(OutboxStore store, OutboxPublisher publisher, RelaySettings settings, OutboxListener listener) {
		this.store = store;
		this.publisher = publisher;
		this.settings = settings;
		this.listener = listener;
	}

	/**
	 * Publish what is due.
	 * @return how long to wait for more
	 */
	Duration round() {
		Duration left = Duration.ofNanos(this.retryAt - System.nanoTime());
		if (this.outages > 0 && left.compareTo(Duration.ZERO) > 0) {
			return left;
		}
		try (OutboxClaim claim = this.store.claim((this.outages > 0) ? 1 : this.settings.batchSize(),
				this.troubled.names())) {
			List<ClaimedRow> rows = claim.rows();
			if (rows.isEmpty()) {
				return nothing();
			}
			OutboxRound round = new OutboxRound(this.publisher, this.settings, this.troubled);
			round.run(rows);
			claim.settle(round.published().stream().map(Ack::claimed).toList(), round.failures());
			tell(round);
			return (round.outage() != null) ? failed("the broker", round.outage()) : answered();
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			return Duration.ZERO;
		}
		catch (RuntimeException ex) {
			return failed("the database", ex);
		}
	}

	private Duration nothing() {
		if (this.outages == 0 || this.troubled.names().isEmpty()) {
			answered();
			return this.settings.pollInterval();
		}
		// Nothing but what has been tried in vain: it is not one topic.
		this.troubled.clear();
		this.retryAt = System.nanoTime() + this.settings.backOff(this.outages).toNanos();
		return this.settings.backOff(this.outages);
	}

	private Duration answered() {
		if (this.outages > 0) {
			logger.info("The relay of the outbox '" + this.store.table() + "' publishes again");
			this.outages = 0;
		}
		return Duration.ZERO;
	}

	private Duration failed(String who, @Nullable Throwable error) {
		Duration pause = this.settings.backOff(this.outages);
		this.outages++;
		this.retryAt = System.nanoTime() + pause.toNanos();
		String what = "The relay of the outbox '" + this.store.table() + "' gets no answer from " + who
				+ "; messages wait, and the next try comes in " + pause;
		if (this.outages == 1) {
			logger.warn(what, error);
		}
		else {
			logger.debug(what, error);
		}
		return pause;
	}

	private void tell(OutboxRound round) {
		round.published().forEach((ack) -> tell(ack, Outcome.PUBLISHED));
		round.unavailable().forEach((ack) -> tell(ack, Outcome.UNAVAILABLE));
		for (RelayFailure failure : round.failures()) {
			ClaimedRow claimed = failure.claimed();
			if (failure.retryAfter() == null) {
				logger.error("The broker has refused " + claimed.row() + " " + failure.attempts()
						+ " times; it is set aside, and later messages with its key pass it. Mend the reason and have it "
						+ "published, or discard it, at the actuator endpoint 'idempotencyoutbox'", failure.error());
				tell(Ack.of(claimed, failure.error()), Outcome.SET_ASIDE);
			}
			else {
				logger.warn(
						"The broker has refused " + claimed.row() + "; try " + failure.attempts() + " of "
								+ this.settings.maxAttempts() + ", the next one comes in " + failure.retryAfter(),
						failure.error());
				tell(Ack.of(claimed, failure.error()), Outcome.REFUSED);
			}
		}
	}

	private void tell(Ack ack, Outcome outcome) {
		this.listener.published(ack.claimed().row(), outcome, ack.elapsed());
	}

}
