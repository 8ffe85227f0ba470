/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.observation;

import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import io.micrometer.observation.Observation;
import io.micrometer.tracing.Link;
import io.micrometer.tracing.Span;
import io.micrometer.tracing.TraceContext;
import io.micrometer.tracing.Tracer;
import io.micrometer.tracing.handler.TracingObservationHandler;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;

/**
 * Starts the span of a batch with links to the spans that have sent its records, because
 * a span can have only one parent. A link can be added only before the start of the span,
 * so this handler replaces Micrometer's default handler for batches.
 *
 * @param tracer the tracer
 */
public record BatchSpanLinks(Tracer tracer) implements TracingObservationHandler<BatchContext> {

	// The default limit of OpenTelemetry, which drops further links.
	private static final int MAX_LINKS = 128;

	private static final String TRACE_PARENT = "traceparent";

	// Version, trace, span and flags. An identifier of zeros is not valid.
	private static final Pattern W3C = Pattern
		.compile("[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?");

	@Override
	public boolean supportsContext(Observation.Context context) {
		return context instanceof BatchContext;
	}

	@Override
	public Tracer getTracer() {
		return this.tracer;
	}

	@Override
	public void onStart(BatchContext context) {
		Span.Builder span = this.tracer.spanBuilder().kind(Span.Kind.CONSUMER);
		Span parent = getParentSpan(context);
		if (parent != null) {
			span.setParent(parent.context());
		}
		context.records()
			.stream()
			.flatMap(BatchSpanLinks::traceParent)
			.distinct()
			.map(W3C::matcher)
			.filter(Matcher::matches)
			.limit(MAX_LINKS)
			.forEach((sender) -> span.addLink(new Link(sender(sender))));
		getTracingContext(context).setSpan(span.start());
	}

	@Override
	public void onStop(BatchContext context) {
		Span span = getRequiredSpan(context);
		span.name(Objects.requireNonNull(getSpanName(context)));
		tagSpan(context, span);
		endSpan(context, span);
	}

	private static Stream<String> traceParent(ConsumerRecord<?, ?> record) {
		Header header = record.headers().lastHeader(TRACE_PARENT);
		return (header != null && header.value() != null)
				? Stream.of(new String(header.value(), StandardCharsets.UTF_8)) : Stream.empty();
	}

	private TraceContext sender(MatchResult sender) {
		return this.tracer.traceContextBuilder()
			.traceId(sender.group(1))
			.spanId(sender.group(2))
			.sampled((Integer.parseInt(sender.group(3), 16) & 1) == 1)
			.build();
	}

}
