package dev.idempotency.micrometer;

import java.util.ArrayList;
import java.util.List;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.observation.transport.SenderContext;

import dev.idempotency.outbox.OutboxContext;
import dev.idempotency.outbox.OutboxHeader;
import dev.idempotency.outbox.OutboxMessage;

/**
 * Gives messages the trace of their sender, as the observation of a {@code KafkaTemplate}
 * does: with Micrometer Tracing, {@code traceparent} and {@code tracestate} of a span
 * below the current one. Each message is an observation {@code idempotency.outbox.send}.
 * Without a current observation, and if the message has such headers of its own, nothing
 * is added.
 *
 * @since 0.1.0
 */
public final class OutboxTrace implements OutboxContext {

	private static final String NAME = "idempotency.outbox.send";

	private static final String TRACE_PARENT = "traceparent";

	private final ObservationRegistry registry;

	public OutboxTrace(ObservationRegistry registry) {
		this.registry = registry;
	}

	@Override
	public List<OutboxHeader> headers(OutboxMessage message) {
		Observation current = this.registry.getCurrentObservation();
		if (current == null || current.isNoop() || message.hasHeader(TRACE_PARENT)) {
			return List.of();
		}
		List<OutboxHeader> headers = new ArrayList<>();
		SenderContext<List<OutboxHeader>> context = new SenderContext<>(
				(carrier, name, value) -> headers.add(new OutboxHeader(name, value)));
		context.setCarrier(headers);
		context.setRemoteServiceName("Apache Kafka");
		Observation.createNotStarted(NAME, () -> context, this.registry)
			.contextualName(message.topic() + " send")
			.start()
			.stop();
		return headers.stream().anyMatch((header) -> message.hasHeader(header.name())) ? List.of() : headers;
	}

}
