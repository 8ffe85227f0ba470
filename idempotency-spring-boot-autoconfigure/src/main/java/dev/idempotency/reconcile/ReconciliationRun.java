/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.reconcile;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.OperationBlockedException;
import dev.idempotency.reconcile.ReconciliationReport.State;

/**
 * One run. Its report may be read by any thread.
 */
final class ReconciliationRun implements Runnable {

	private static final Log logger = LogFactory.getLog(Reconciliation.class);

	private static final Duration PROGRESS = Duration.ofSeconds(5);

	// An outage of the store or of the broker that is longer ends the run.
	private static final Duration PATIENCE = Duration.ofSeconds(30);

	private static final long PAUSE = 500;

	private final ReconcilableListener listener;

	private final ReconciliationRequest request;

	private final Consumer<ReconciliationFinding> findings;

	private final Consumer<ReconciliationReport> progress;

	private final Instant startedAt = Instant.now();

	private final long start = System.nanoTime();

	private volatile boolean cancelled;

	private volatile long total;

	// The following fields are guarded by this object.
	private final Map<ReconciliationStatus, Long> counts = new EnumMap<>(ReconciliationStatus.class);

	private final List<ReconciliationFinding> reported = new ArrayList<>();

	private State state = State.RUNNING;

	private long read;

	private long listed;

	private @Nullable Duration duration;

	private @Nullable String error;

	ReconciliationRun(ReconcilableListener listener, ReconciliationRequest request,
			Consumer<ReconciliationFinding> findings, Consumer<ReconciliationReport> progress) {
		this.listener = listener;
		this.request = request;
		this.findings = findings;
		this.progress = progress;
	}

	@Override
	public void run() {
		try (TopicRange range = this.listener.open(this.request)) {
			this.total = range.total();
			end(read(range), null);
		}
		catch (RuntimeException | Error ex) {
			// A message of the broker or of the store contains no payload.
			logger.debug("A reconciliation failed", ex);
			end(this.cancelled ? State.CANCELLED : State.FAILED,
					(ex.getMessage() != null) ? ex.getMessage() : ex.getClass().getName());
		}
	}

	private State read(TopicRange range) {
		Comparison comparison = new Comparison(this.request);
		long reportedAt = System.nanoTime();
		long readAt = System.nanoTime();
		long count = 0;
		while (!range.isComplete()) {
			if (this.cancelled) {
				return State.CANCELLED;
			}
			if (count >= this.request.limit() || elapsed(this.start).compareTo(this.request.timeout()) >= 0) {
				return State.INCOMPLETE;
			}
			List<TopicRecord> records = range.next();
			if (records.isEmpty() && !range.isComplete() && elapsed(readAt).compareTo(PATIENCE) > 0) {
				throw new IllegalStateException(
						"The broker has returned no record for " + PATIENCE.toSeconds() + " s. Check the broker");
			}
			if (!records.isEmpty()) {
				readAt = System.nanoTime();
				long left = this.request.limit() - count;
				List<TopicRecord> due = (records.size() > left) ? records.subList(0, (int) left) : records;
				for (ReconciliationFinding finding : compare(comparison, due)) {
					if (add(finding)) {
						this.findings.accept(finding);
					}
				}
				count += due.size();
				if (due.size() < records.size()) {
					return State.INCOMPLETE;
				}
			}
			if (elapsed(reportedAt).compareTo(PROGRESS) >= 0) {
				reportedAt = System.nanoTime();
				this.progress.accept(report());
			}
		}
		return State.DONE;
	}

	private List<ReconciliationFinding> compare(Comparison comparison, List<TopicRecord> records) {
		long since = System.nanoTime();
		while (true) {
			try {
				return comparison.compare(records);
			}
			catch (OperationBlockedException ex) {
				if (this.cancelled || elapsed(since).compareTo(PATIENCE) > 0
						|| elapsed(this.start).compareTo(this.request.timeout()) >= 0) {
					throw ex;
				}
				pause();
			}
		}
	}

	private void pause() {
		try {
			Thread.sleep(PAUSE);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IllegalStateException("The thread of the reconciliation was interrupted", ex);
		}
	}

	private static Duration elapsed(long since) {
		return Duration.ofNanos(System.nanoTime() - since);
	}

	private synchronized boolean add(ReconciliationFinding finding) {
		this.read++;
		this.counts.merge(finding.status(), 1L, Long::sum);
		if (!this.request.lists(finding.status())) {
			return false;
		}
		this.listed++;
		if (this.reported.size() < Reconciliation.REPORTED) {
			this.reported.add(finding);
		}
		return true;
	}

	private synchronized void end(State end, @Nullable String reason) {
		this.state = end;
		this.error = reason;
		this.duration = elapsed(this.start);
		logger.info("The reconciliation of the listener '" + this.request.listener() + "' has ended: " + end + ", "
				+ this.read + " of at most " + this.total + " records " + this.counts
				+ ((reason != null) ? ". " + reason : ""));
	}

	synchronized boolean isRunning() {
		return this.state == State.RUNNING;
	}

	boolean cancel() {
		this.cancelled = true;
		return isRunning();
	}

	synchronized ReconciliationReport report() {
		return new ReconciliationReport(this.request.listener(), this.state, this.startedAt,
				(this.duration != null) ? this.duration : elapsed(this.start), this.total, this.read,
				new EnumMap<>(this.counts), List.copyOf(this.reported), this.listed, this.error);
	}

}
