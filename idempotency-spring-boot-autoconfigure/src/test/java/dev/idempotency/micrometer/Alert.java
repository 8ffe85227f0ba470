package dev.idempotency.micrometer;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Map;

import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import org.springframework.context.ApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * An alert rule as it is written.
 */
public final class Alert {

	private final Query query;

	private final Duration patience;

	private boolean held;

	private long since;

	private Alert(Map<String, Object> rule) {
		this.query = Query.parse(String.valueOf(rule.get("expr")));
		this.patience = Duration.parse("PT" + rule.getOrDefault("for", "0s"));
	}

	/**
	 * An alert of the file.
	 * @param name its name
	 * @return the alert
	 */
	public static Alert of(String name) {
		try {
			return new Alert(AlertRules.rule(name));
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Whether its condition holds now.
	 * @param context an application that publishes meters for Prometheus
	 * @return whether it does
	 */
	public boolean holds(ApplicationContext context) {
		PublishedMeters meters = PublishedMeters.of(context.getBean(PrometheusMeterRegistry.class).scrape());
		assertThat(meters.names()).contains(this.query.selectors().get(0).meter());
		return this.query.holds(meters);
	}

	/**
	 * Whether its condition has held for as long as it has to. Asked again and again, as
	 * Prometheus does.
	 * @param context an application that publishes meters for Prometheus
	 * @return whether somebody is told
	 */
	public boolean fires(ApplicationContext context) {
		boolean holds = holds(context);
		if (holds && !this.held) {
			this.since = System.nanoTime();
		}
		this.held = holds;
		return holds && System.nanoTime() - this.since >= this.patience.toNanos();
	}

	/**
	 * What the value has to exceed.
	 * @return the limit
	 */
	double limit() {
		return this.query.limit();
	}

	/**
	 * For how long its condition has to hold.
	 * @return that time
	 */
	Duration patience() {
		return this.patience;
	}

}
