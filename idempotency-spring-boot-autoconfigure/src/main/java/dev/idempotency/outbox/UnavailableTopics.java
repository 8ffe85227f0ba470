/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Topics to which the relay cannot publish: the broker does not know the topic, has no
 * leader or too few in-sync replicas for it, or does not answer.
 * <p>
 * Messages to such a topic are excluded from claims, because each attempt delays the
 * messages to other topics: for 5 seconds, long enough to elect a leader, and twice as
 * long after each further failure, up to 160 seconds. The pause stays 5 seconds while
 * only some partitions of the topic are unavailable.
 */
final class UnavailableTopics {

	private static final Log logger = LogFactory.getLog(UnavailableTopics.class);

	private static final Duration FIRST_PAUSE = Duration.ofSeconds(5);

	private static final int MAX_DOUBLINGS = 5;

	private final String outbox;

	private final LongSupplier nanos;

	private final Map<String, Failures> topics = new HashMap<>();

	UnavailableTopics(String outbox, LongSupplier nanos) {
		this.outbox = outbox;
		this.nanos = nanos;
	}

	void fail(String topic, @Nullable Throwable error) {
		if (!isExcluded(topic)) {
			Failures known = this.topics.getOrDefault(topic, Failures.NONE);
			this.topics.put(topic, known.next(this.nanos.getAsLong(), error));
		}
	}

	boolean isExcluded(String topic) {
		Failures failures = this.topics.get(topic);
		return failures != null && this.nanos.getAsLong() - failures.until() < 0;
	}

	Set<String> excluded() {
		return this.topics.keySet().stream().filter(this::isExcluded).collect(Collectors.toSet());
	}

	// Whether the failures of a round come from the topics and not from the broker.
	boolean explain(Set<String> failed) {
		return failed.stream().allMatch((topic) -> this.topics.getOrDefault(topic, Failures.NONE).othersWork());
	}

	void update(Set<String> published, Set<String> failed) {
		this.topics.entrySet().removeIf((entry) -> {
			boolean works = published.contains(entry.getKey()) && !failed.contains(entry.getKey());
			if (works && entry.getValue().logged()) {
				logger.info("The relay of the outbox '" + this.outbox + "' publishes to the topic '" + entry.getKey()
						+ "' again");
			}
			return works;
		});
		this.topics.replaceAll((topic, failures) -> {
			boolean log = failures.error() != null && !failures.logged() && failed.contains(topic);
			if (log) {
				logger.warn("The relay of the outbox '" + this.outbox + "' cannot publish to the topic '" + topic
						+ "'. Its messages are retried in " + failures.pause().toSeconds()
						+ " s; messages to other topics are published. Check the leaders and the in-sync replicas of "
						+ "its partitions", failures.error());
			}
			long now = this.nanos.getAsLong();
			Failures current = published.contains(topic) ? failures.forgotten(now).next(now, failures.error())
					: failures;
			return new Failures(current.count(), current.until(), current.error(),
					current.othersWork() || !published.isEmpty(), current.logged() || log);
		});
	}

	// End all exclusions: the broker was the cause.
	void retryAll() {
		this.topics.replaceAll((topic, failures) -> failures.forgotten(this.nanos.getAsLong()));
	}

	// Shorten a pause to the end of the next exclusion.
	Duration pause(Duration pause) {
		long left = this.topics.values()
			.stream()
			.mapToLong((failures) -> failures.until() - this.nanos.getAsLong())
			.filter((nanos) -> nanos > 0)
			.min()
			.orElse(Long.MAX_VALUE);
		return (left < pause.toNanos()) ? Duration.ofNanos(left) : pause;
	}

	/**
	 * The failures of a topic.
	 *
	 * @param count number of failures in a row
	 * @param until end of the exclusion, in {@link System#nanoTime}
	 * @param error the last error
	 * @param othersWork whether other topics have worked since
	 * @param logged whether the failures have been logged
	 */
	private record Failures(int count, long until, @Nullable Throwable error, boolean othersWork, boolean logged) {

		private static final Failures NONE = new Failures(0, 0, null, false, false);

		Duration pause() {
			return FIRST_PAUSE.multipliedBy(1L << Math.min(Math.max(this.count - 1, 0), MAX_DOUBLINGS));
		}

		Failures next(long now, @Nullable Throwable error) {
			Failures next = new Failures(this.count + 1, now, error, this.othersWork, this.logged);
			return new Failures(next.count, now + next.pause().toNanos(), error, this.othersWork, this.logged);
		}

		Failures forgotten(long now) {
			return new Failures(0, now, this.error, this.othersWork, this.logged);
		}

	}

}
