/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.micrometer;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.Mode;
import dev.idempotency.outbox.Outbox;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.template.OperationObserver.BlockedRecord;
import dev.idempotency.template.OperationObserver.HandledOperation;
import dev.idempotency.template.OperationObserver.Intervention;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.template.StoreCircuit;
import dev.idempotency.template.StoreObserver.StoreCall;
import dev.idempotency.template.StoreObserver.StoreOutcome;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * The meters of the library, as Prometheus reads them.
 *
 * @param samples the samples, by their name
 */
record PublishedMeters(Map<String, List<Sample>> samples) {

	private static final Pattern SAMPLE = Pattern.compile("^([a-z0-9_]+)(?:\\{(.*)})? (\\S+)$");

	private static final Pattern TAG = Pattern.compile("([a-z_]+)=\"([^\"]*)\"");

	/**
	 * Read all meters, after every kind of event.
	 * @return the meters
	 */
	static PublishedMeters all() {
		PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
		IdempotencyMetrics listener = new IdempotencyMetrics(registry);
		for (Mode mode : Set.of(Mode.LEASED, Mode.TRANSACTIONAL)) {
			for (Outcome outcome : Outcome.values()) {
				listener.handled(new HandledOperation("payments", mode, IdempotencyKey.of("scope", "key"), outcome,
						Duration.ofMillis(5)));
			}
		}
		for (StoreCall call : StoreCall.values()) {
			for (StoreOutcome outcome : StoreOutcome.values()) {
				listener.storeCalled("jdbc", call, outcome, Duration.ofMillis(5));
			}
		}
		for (MissingKeyPolicy policy : MissingKeyPolicy.values()) {
			listener.keyMissing("payments", policy);
		}
		listener.blocked(new BlockedRecord("payments", "topic", 0, 7, Instant.now()));
		listener.circuitChanged("jdbc", StoreCircuit.State.OPEN);
		listener.evictionChecked("redis", true);
		listener.completionFailed("payments", IdempotencyKey.of("scope", "key"));
		for (Settlement settlement : Settlement.values()) {
			listener.completionSettled("payments", IdempotencyKey.of("scope", "key"), settlement);
		}
		listener.resultNotStored("payments", IdempotencyKey.of("scope", "key"));
		for (Intervention intervention : Intervention.values()) {
			listener.intervened(intervention, true, "");
			listener.intervened(intervention, false, "");
		}
		listener.cleanedUp("idempotency_record", 1);
		listener.cleanupEnded("idempotency_record", Duration.ofMillis(5), Duration.ofMinutes(1));
		return of(registry.scrape() + outbox());
	}

	// From a running outbox with a published message and a dead letter.
	private static String outbox() {
		try (ConfigurableApplicationContext context = TestApp.of()
			.with("idempotency.outbox.enabled", true)
			.with("idempotency.outbox.max-attempts", 1)
			.run()) {
			Outbox outbox = context.getBean(Outbox.class);
			PrometheusMeterRegistry registry = context.getBean(PrometheusMeterRegistry.class);
			new TransactionTemplate(context.getBean(PlatformTransactionManager.class))
				.executeWithoutResult((status) -> {
					outbox.send(Servers.newTopic("outbox", 1), "account-1", "text");
					outbox.send("not/valid", "account-1", "text");
				});
			await().untilAsserted(() -> assertThat(registry.get("idempotency.outbox.publish").timers())
				.filteredOn((timer) -> timer.count() == 1)
				.extracting((timer) -> timer.getId().getTag("outcome"))
				.containsExactlyInAnyOrder("published", "dead_letter"));
			await().until(() -> registry.find("idempotency.outbox.age").timeGauge() != null);
			return registry.scrape()
				.lines()
				.filter((line) -> line.startsWith("idempotency_outbox"))
				.collect(Collectors.joining("\n"));
		}
	}

	static PublishedMeters of(String text) {
		Map<String, List<Sample>> samples = new LinkedHashMap<>();
		text.lines().filter((line) -> !line.startsWith("#")).forEach((line) -> {
			Matcher sample = SAMPLE.matcher(line);
			if (sample.matches()) {
				Map<String, String> tags = new LinkedHashMap<>();
				Matcher tag = TAG.matcher((sample.group(2) != null) ? sample.group(2) : "");
				while (tag.find()) {
					tags.put(tag.group(1), tag.group(2));
				}
				samples.computeIfAbsent(sample.group(1), (name) -> new ArrayList<>())
					.add(new Sample(tags, Double.parseDouble(sample.group(3))));
			}
		});
		return new PublishedMeters(samples);
	}

	Set<String> names() {
		return this.samples.keySet();
	}

	Set<String> tags(String name) {
		Set<String> tags = new TreeSet<>();
		this.samples.getOrDefault(name, List.of()).forEach((sample) -> tags.addAll(sample.tags().keySet()));
		return tags;
	}

	Set<String> values(String name, String tag) {
		Set<String> values = new TreeSet<>();
		this.samples.getOrDefault(name, List.of()).forEach((sample) -> values.add(sample.tags().getOrDefault(tag, "")));
		return values;
	}

	/**
	 * A value.
	 *
	 * @param tags its tags
	 * @param value the value
	 */
	record Sample(Map<String, String> tags, double value) {

	}

}
