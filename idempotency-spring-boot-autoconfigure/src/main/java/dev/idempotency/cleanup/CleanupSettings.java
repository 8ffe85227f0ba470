package dev.idempotency.cleanup;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

import org.springframework.format.annotation.DurationFormat;
import org.springframework.format.datetime.standard.DurationFormatterUtils;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * The settings of a {@link CleanupJob}.
 *
 * @param interval the time between the end of a run and the next run, varied randomly by
 * up to a fifth
 * @param timeBudget how long a run may delete records; the next run deletes the others
 * @param batchSize how many records a statement deletes at most
 * @param pause how long to pause before each statement
 * @since 0.1.0
 */
public record CleanupSettings(Duration interval, Duration timeBudget, int batchSize, Duration pause) {

	private static final double JITTER = 0.2;

	public CleanupSettings {
		check(interval.toMillis() > 0,
				"The interval of the cleanup of expired idempotency records is " + text(interval) + ".",
				"Set 'idempotency.cleanup.interval' to a millisecond or more, or 'idempotency.cleanup.enabled' to "
						+ "'false'.");
		check(timeBudget.toMillis() > 0,
				"The time budget of the cleanup of expired idempotency records is " + text(timeBudget) + ".",
				"Set 'idempotency.cleanup.time-budget' to a millisecond or more.");
		check(batchSize > 0,
				"The batch size of the cleanup of expired idempotency records is " + batchSize
						+ ", so that it would never delete a record.",
				"Set 'idempotency.cleanup.batch-size' to one or more.");
		check(!pause.isNegative() && pause.compareTo(timeBudget) < 0,
				"The cleanup of expired idempotency records pauses for " + text(pause) + ", but its time budget is "
						+ text(timeBudget) + ".",
				"Set 'idempotency.cleanup.pause' to zero or more and to less than 'idempotency.cleanup.time-budget'.");
	}

	private static void check(boolean condition, String message, String action) {
		if (!condition) {
			throw new IdempotencyConfigurationException(message, action);
		}
	}

	private static String text(Duration duration) {
		return DurationFormatterUtils.print(duration, DurationFormat.Style.COMPOSITE);
	}

	// Instances that start at the same time must not clean up at the same time.
	Duration firstDelay() {
		return Duration.ofMillis(ThreadLocalRandom.current().nextLong(this.interval.toMillis() + 1));
	}

	// The runs of several instances must not coincide later, either.
	Duration nextDelay() {
		double share = ThreadLocalRandom.current().nextDouble(1 - JITTER, 1 + JITTER);
		return Duration.ofMillis(Math.round(this.interval.toMillis() * share));
	}

}
