package dev.idempotency.listener;

import java.time.Duration;

import org.springframework.format.annotation.DurationFormat;
import org.springframework.format.datetime.standard.DurationFormatterUtils;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * A duration that applies to a listener, and where it is set.
 *
 * @param attribute the attribute of the annotation, which is the name of the property too
 * @param value the duration
 * @param annotated whether the annotation sets it
 */
record DurationSetting(String attribute, Duration value, boolean annotated) {

	private static final Duration MIN_LEASE = Duration.ofSeconds(1);

	/**
	 * Write a duration as people do, like {@code 7d} or {@code 1h30m}.
	 * @param duration the duration
	 * @return the text
	 */
	static String text(Duration duration) {
		return DurationFormatterUtils.print(duration, DurationFormat.Style.COMPOSITE);
	}

	/**
	 * Compare lease and retention with each other.
	 * @param lease how long a claim lives
	 * @param retention how long a completed key is remembered
	 * @param where the listener
	 * @throws IdempotencyConfigurationException if one of them is too short or too long
	 */
	static void check(DurationSetting lease, DurationSetting retention, String where) {
		if (lease.value.compareTo(MIN_LEASE) < 0) {
			throw lease.mistake(where, "shorter than " + text(MIN_LEASE),
					"Set it to " + text(MIN_LEASE) + " or more." + lease.unit("'30s' for 30 seconds"));
		}
		if (retention.value.compareTo(lease.value) > 0) {
			return;
		}
		if (lease.annotated && !retention.annotated) {
			throw lease.mistake(where, "not shorter than its retention of " + retention,
					"Set the lease to less than the retention. Seconds to minutes are usual: a running handler renews it.");
		}
		throw retention.mistake(where, "not longer than its lease of " + lease,
				"Set the retention to more than the lease, and to more than the topic keeps its records."
						+ retention.unit("'7d' for 7 days"));
	}

	private IdempotencyConfigurationException mistake(String where, String problem, String action) {
		return new IdempotencyConfigurationException(
				"The " + this.attribute + " of the idempotent listener " + where + " is " + this + ", " + problem + ".",
				action);
	}

	// Nobody means so little.
	private String unit(String example) {
		return (this.value.compareTo(MIN_LEASE) < 0)
				? " A number without a unit is milliseconds: write " + example + "." : "";
	}

	@Override
	public String toString() {
		return text(this.value) + " ("
				+ (this.annotated ? "'" + this.attribute + "' of @Idempotent" : "'idempotency." + this.attribute + "'")
				+ ")";
	}

}
