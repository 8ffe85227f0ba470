package dev.idempotency.sample.summary;

import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

import io.micrometer.core.instrument.Meter.Id;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import org.springframework.stereotype.Component;

/**
 * Reads the outcomes of deliveries to the protected listeners from their meter.
 */
@Component
class Outcomes {

	private final MeterRegistry meters;

	Outcomes(MeterRegistry meters) {
		this.meters = meters;
	}

	Map<String, Map<String, Long>> read() {
		return this.meters.find("idempotency.process")
			.timers()
			.stream()
			.collect(Collectors.groupingBy((timer) -> tag(timer, "listener"), TreeMap::new, Collectors
				.groupingBy((timer) -> tag(timer, "outcome"), TreeMap::new, Collectors.summingLong(Timer::count))));
	}

	private static String tag(Timer timer, String name) {
		Id id = timer.getId();
		return String.valueOf(id.getTag(name));
	}

}
