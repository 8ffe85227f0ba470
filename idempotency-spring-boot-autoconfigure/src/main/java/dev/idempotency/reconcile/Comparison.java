/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.reconcile;

import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.reconcile.TopicRecord.Target;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.OffsetMark;
import dev.idempotency.store.OffsetMarks;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.OffsetPosition;

/**
 * Compares records with the store. It only reads.
 */
final class Comparison {

	// The clocks of the store and of this process may differ.
	private static final Duration CLOCK_DIFFERENCE = Duration.ofSeconds(2);

	private final ReconciliationRequest request;

	// Every offset of the range below a mark has completed, and a mark is never lowered
	// by a listener.
	private final Map<UUID, OptionalLong> marks = new HashMap<>();

	Comparison(ReconciliationRequest request) {
		this.request = request;
	}

	List<ReconciliationFinding> compare(List<TopicRecord> records) {
		Map<IdempotencyTemplate, Set<IdempotencyKey>> keys = records.stream()
			.map(TopicRecord::target)
			.filter((target) -> target != null && target.operation().position() == null)
			.collect(Collectors.groupingBy(Target::template,
					Collectors.mapping((target) -> target.operation().key(), Collectors.toSet())));
		Map<IdempotencyTemplate, Map<IdempotencyKey, IdempotencyRecord>> found = new HashMap<>();
		keys.forEach((template, wanted) -> found.put(template, template.store().find(wanted)));
		return records.stream().map((record) -> {
			Target target = record.target();
			return (target != null)
					? compare(record, target,
							found.getOrDefault(target.template(), Map.of()).get(target.operation().key()))
					: withoutOperation(record);
		}).toList();
	}

	private static ReconciliationFinding withoutOperation(TopicRecord record) {
		ReconciliationStatus status = !record.consumed() ? ReconciliationStatus.NOT_CONSUMED
				: (record.problem() != null) ? ReconciliationStatus.UNRESOLVABLE : ReconciliationStatus.UNPROTECTED;
		return record.finding(status, record.problem());
	}

	private ReconciliationFinding compare(TopicRecord record, Target target, @Nullable IdempotencyRecord found) {
		OffsetPosition position = target.operation().position();
		if (position != null) {
			return isBelowMark(target, position) ? record.finding(ReconciliationStatus.COMPLETED, null)
					: absent(record, target);
		}
		if (found == null) {
			return absent(record, target);
		}
		Long version = (target.operation().version() != null) ? target.operation().version().number() : null;
		if (version != null) {
			Long completed = found.version();
			if (completed != null && completed > version) {
				return record.finding(ReconciliationStatus.STALE, "version " + completed + " has completed");
			}
			if (completed != null && completed.equals(version)) {
				return completed(record, target);
			}
			if (found.state() == State.COMPLETED) {
				// A lower version has completed, or one without a number.
				return absent(record, target);
			}
		}
		return switch (found.state()) {
			case COMPLETED -> completed(record, target);
			case IN_PROGRESS -> inProgress(record, found);
			case FAILED -> unprocessed(record, ReconciliationStatus.FAILED, "attempt " + found.attempt() + ", "
					+ ((found.failure() != null) ? found.failure().type() : "the claim was released"));
		};
	}

	private ReconciliationFinding completed(TopicRecord record, Target target) {
		if (!this.request.examine()) {
			return record.finding(ReconciliationStatus.COMPLETED, null);
		}
		return record.finding(switch (target.template().admin().examine(target.operation())) {
			case DECLINED -> ReconciliationStatus.DECLINED;
			case STALE -> ReconciliationStatus.STALE;
			case OTHER_CONTENT -> ReconciliationStatus.REJECTED;
			// The record has changed in the meantime.
			case COMPLETED, NOT_COMPLETED -> ReconciliationStatus.COMPLETED;
		}, null);
	}

	private ReconciliationFinding inProgress(TopicRecord record, IdempotencyRecord found) {
		Instant now = Instant.now();
		Instant until = found.claimedUntil();
		if (until != null && until.plus(CLOCK_DIFFERENCE).isBefore(now)) {
			return record.finding(ReconciliationStatus.STUCK, "the lease expired at " + until);
		}
		boolean old = found.createdAt().plus(this.request.stuckAfter()).isBefore(now);
		return record.finding(old ? ReconciliationStatus.STUCK : ReconciliationStatus.IN_PROGRESS,
				"first claimed at " + found.createdAt() + ", attempt " + found.attempt());
	}

	private static ReconciliationFinding absent(TopicRecord record, Target target) {
		Duration retention = target.operation().retention();
		boolean remembered = target.operation().position() != null
				|| Duration.between(Instant.ofEpochMilli(record.timestamp()), Instant.now()).compareTo(retention) < 0;
		return unprocessed(record, remembered ? ReconciliationStatus.MISSING : ReconciliationStatus.EXPIRED,
				remembered ? null : "the record is older than the retention " + retention);
	}

	// The group will receive a record that it has not consumed.
	private static ReconciliationFinding unprocessed(TopicRecord record, ReconciliationStatus status,
			@Nullable String detail) {
		return record.consumed() ? record.finding(status, detail)
				: record.finding(ReconciliationStatus.NOT_CONSUMED, null);
	}

	private boolean isBelowMark(Target target, OffsetPosition position) {
		OffsetMark own = position.mark(target.operation().key().scope(), null);
		OptionalLong mark = this.marks.computeIfAbsent(own.id(),
				(id) -> target.template()
					.admin()
					.offsetMarks()
					.map((marks) -> marks.find(own))
					.orElse(OptionalLong.empty()));
		return mark.orElse(OffsetMarks.NONE) >= position.offset();
	}

}
