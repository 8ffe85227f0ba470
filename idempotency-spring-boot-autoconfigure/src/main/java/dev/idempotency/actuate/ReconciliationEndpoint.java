/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.actuate;

import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.annotation.RegisterReflectionForBinding;
import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.OperationResponseBody;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.annotation.WebEndpoint;

import dev.idempotency.actuate.ReconciliationEndpoint.CancelDescriptor;
import dev.idempotency.actuate.ReconciliationEndpoint.ReconciliationDescriptor;
import dev.idempotency.reconcile.ReconcilableListener;
import dev.idempotency.reconcile.Reconciliation;
import dev.idempotency.reconcile.ReconciliationCsv;
import dev.idempotency.reconcile.ReconciliationFinding;
import dev.idempotency.reconcile.ReconciliationReport;
import dev.idempotency.reconcile.ReconciliationReport.State;
import dev.idempotency.reconcile.ReconciliationRequest;
import dev.idempotency.reconcile.ReconciliationStatus;

/**
 * {@link WebEndpoint @WebEndpoint} that compares the records of a listener's topics with
 * the store. Read operations are allowed by default; starting and cancelling a run only
 * with {@code management.endpoint.idempotencyreconciliation.access} set to
 * {@code unrestricted}. A run belongs to the instance that has started it.
 *
 * @param reconciliation compares the records
 * @since 0.1.0
 */
@WebEndpoint(id = ReconciliationEndpoint.ID, defaultAccess = Access.READ_ONLY)
@RegisterReflectionForBinding({ ReconciliationDescriptor.class, CancelDescriptor.class, WebResponses.Problem.class })
public record ReconciliationEndpoint(Reconciliation reconciliation) {

	static final String ID = "idempotencyreconciliation";

	private static final int LIMIT = 100;

	/**
	 * Show the listeners and the current or last run.
	 * @param limit the largest number of listed records, 0 to 1000, 100 by default
	 * @return the description
	 */
	@ReadOperation
	public ReconciliationDescriptor overview(@Nullable Integer limit) {
		int size = WebResponses.limit(limit, LIMIT, 0, Reconciliation.REPORTED);
		ReconciliationReport report = this.reconciliation.report();
		return new ReconciliationDescriptor(
				this.reconciliation.listeners().stream().map(ListenerDescriptor::of).toList(),
				(report != null) ? RunDescriptor.of(report, size) : null);
	}

	/**
	 * Return the listed records of the current or last run, up to
	 * {@value Reconciliation#REPORTED}, as comma-separated values.
	 * @param view {@code findings}
	 * @return the records, {@code null} if there was no run
	 */
	@ReadOperation(produces = "text/csv")
	public @Nullable String export(@Selector String view) {
		ReconciliationReport report = this.reconciliation.report();
		if (report == null || !view.equals("findings")) {
			return null;
		}
		return report.findings()
			.stream()
			.map(ReconciliationCsv::line)
			.collect(Collectors.joining("", ReconciliationCsv.HEADER, ""));
	}

	/**
	 * Start a run. The parameters are those of {@link ReconciliationRequest}.
	 * @param listener the id or the name of the listener
	 * @param topic the topic, by default all topics of the listener
	 * @param partition the partition, by default all
	 * @param from the timestamp of the first record
	 * @param fromOffset the offset at which each partition begins
	 * @param to the timestamp of the first record that is left out
	 * @param limit the largest number of records to read
	 * @param timeout the longest duration of the run
	 * @param stuckAfter the time after which an operation in progress is stuck
	 * @param examine whether completed keys are compared with their content
	 * @param list the statuses to list besides the findings
	 * @return the run, or the reason why none was started
	 */
	@WriteOperation
	public WebEndpointResponse<?> start(String listener, @Nullable String topic, @Nullable Integer partition,
			@Nullable OffsetDateTime from, @Nullable Long fromOffset, @Nullable OffsetDateTime to, @Nullable Long limit,
			@Nullable Duration timeout, @Nullable Duration stuckAfter, @Nullable Boolean examine,
			@Nullable Set<ReconciliationStatus> list) {
		ReconciliationRequest request = new ReconciliationRequest(listener, topic, partition,
				(from != null) ? from.toInstant() : null, fromOffset, (to != null) ? to.toInstant() : null,
				(limit != null) ? limit : ReconciliationRequest.DEFAULT_LIMIT,
				Objects.requireNonNullElse(timeout, ReconciliationRequest.DEFAULT_TIMEOUT),
				Objects.requireNonNullElse(stuckAfter, ReconciliationRequest.DEFAULT_STUCK_AFTER),
				!Boolean.FALSE.equals(examine), Objects.requireNonNullElse(list, Set.of()));
		try {
			return new WebEndpointResponse<>(RunDescriptor.of(this.reconciliation.start(request), LIMIT),
					WebResponses.ACCEPTED);
		}
		catch (IllegalStateException ex) {
			return WebResponses.problem(ex.getMessage(), WebResponses.CONFLICT);
		}
	}

	/**
	 * Cancel the run in progress. It ends within a few seconds.
	 * @return whether a run was in progress
	 */
	@DeleteOperation
	public CancelDescriptor cancel() {
		return new CancelDescriptor(this.reconciliation.cancel());
	}

	/**
	 * Description of the reconciliation.
	 *
	 * @param listeners the listeners whose topics can be compared with the store
	 * @param run the current or last run, if there was one
	 */
	public record ReconciliationDescriptor(List<ListenerDescriptor> listeners,
			@Nullable RunDescriptor run) implements OperationResponseBody {

	}

	/**
	 * Description of a listener.
	 *
	 * @param id the id of its container
	 * @param names the names of its methods
	 * @param topics its topics, or the pattern of their names
	 */
	public record ListenerDescriptor(String id, Collection<String> names, List<String> topics) {

		static ListenerDescriptor of(ReconcilableListener listener) {
			return new ListenerDescriptor(listener.id(), listener.names(), listener.topics());
		}

	}

	/**
	 * Description of a run.
	 *
	 * @param listener the listener that was named
	 * @param state the state
	 * @param startedAt the time of its beginning
	 * @param duration its duration so far
	 * @param total the number of offsets in the range
	 * @param read the number of records that were compared
	 * @param findings the number of records whose effect may be missing
	 * @param counts the number of records of each status
	 * @param listed the number of listed records
	 * @param records the first of them
	 * @param error the reason why the run ended early, if it did
	 */
	public record RunDescriptor(String listener, State state, Instant startedAt, Duration duration, long total,
			long read, long findings, Map<ReconciliationStatus, Long> counts, long listed,
			List<ReconciliationFinding> records, @Nullable String error) implements OperationResponseBody {

		static RunDescriptor of(ReconciliationReport report, int limit) {
			return new RunDescriptor(report.listener(), report.state(), report.startedAt(), report.duration(),
					report.total(), report.read(), report.findingCount(), report.counts(), report.listed(),
					report.findings().stream().limit(limit).toList(), report.error());
		}

	}

	/**
	 * Description of the outcome of a cancellation.
	 *
	 * @param cancelled whether a run was in progress
	 */
	public record CancelDescriptor(boolean cancelled) implements OperationResponseBody {

	}

}
