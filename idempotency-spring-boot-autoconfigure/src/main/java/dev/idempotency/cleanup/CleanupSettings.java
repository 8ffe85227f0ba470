package dev.idempotency.cleanup;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

import org.springframework.format.annotation.DurationFormat;
import org.springframework.format.datetime.standard.DurationFormatterUtils;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * How a {@link CleanupJob} works.
 *
 * @param interval the time between the end of a run and the next, give or take a fifth
 * @param timeBudget how long a run may delete; what is left then has to wait for the next
 * @param batchSize how many records a statement deletes at most
 * @param pause how long to leave the database alone before each statement
 * @since 0.1.0
 */
public record CleanupSettings(Duration interval, Duration timeBudget, int batchSize, Duration pause) {

	private static final double JITTER = 0.2;

	public CleanupSettings {
		check(interval.toMillis() > 0,
				"The cleanup of expired idempotency records has the interval " + text(interval) + ".",
				"Set 'idempotency.cleanup.interval' to a millisecond or more, or 'idempotency.cleanup.enabled' to "
						+ "'false'.");
		check(timeBudget.toMillis() > 0,
				"A run of the cleanup of expired idempotency records may take " + text(timeBudget) + ".",
				"Set 'idempotency.cleanup.time-budget' to a millisecond or more.");
		check(batchSize > 0,
				"A statement of the cleanup of expired idempotency records may delete " + batchSize
						+ " records, so that it would never delete anything.",
				"Set 'idempotency.cleanup.batch-size' to one or more.");
		check(!pause.isNegative() && pause.compareTo(timeBudget) < 0,
				"The cleanup of expired idempotency records pauses for " + text(pause) + " in a run of at most "
						+ text(timeBudget) + ".",
				"Set 'idempotency.cleanup.pause' to zero or more, and to less than 'idempotency.cleanup.time-budget'.");
	}

	private static void check(boolean condition, String message, String action) {
		if (!condition) {
			throw new IdempotencyConfigurationException(message, action);
		}
	}

	private static String text(Duration duration) {
		return DurationFormatterUtils.print(duration, DurationFormat.Style.COMPOSITE);
	}

	// Instances that start together do not clean together.
	Duration firstDelay() {
		return Duration.ofMillis(ThreadLocalRandom.current().nextLong(this.interval.toMillis() + 1));
	}

	// Nor do they come together later.
	Duration nextDelay() {
		double share = ThreadLocalRandom.current().nextDouble(1 - JITTER, 1 + JITTER);
		return Duration.ofMillis(Math.round(this.interval.toMillis() * share));
	}

}
