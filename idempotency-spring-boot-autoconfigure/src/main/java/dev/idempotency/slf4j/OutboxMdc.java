package dev.idempotency.slf4j;

import java.util.ArrayList;
import java.util.List;

import org.slf4j.MDC;

import dev.idempotency.outbox.OutboxContext;
import dev.idempotency.outbox.OutboxHeader;
import dev.idempotency.outbox.OutboxMessage;

/**
 * Gives messages some values of the sender's diagnostic context, each in a header with
 * the name of its key. A header of the message itself goes first.
 *
 * @since 0.1.0
 */
public final class OutboxMdc implements OutboxContext {

	private final List<String> keys;

	public OutboxMdc(List<String> keys) {
		this.keys = List.copyOf(keys);
	}

	@Override
	public List<OutboxHeader> headers(OutboxMessage message) {
		List<OutboxHeader> headers = new ArrayList<>();
		for (String key : this.keys) {
			String value = MDC.get(key);
			if (value != null && !message.hasHeader(key)) {
				headers.add(new OutboxHeader(key, value));
			}
		}
		return headers;
	}

}
