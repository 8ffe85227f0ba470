/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

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
