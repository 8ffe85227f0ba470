package dev.idempotency.outbox;

import java.util.List;

/**
 * Describes the sender of a message in headers, such as its trace. The headers are stored
 * with the message, so that its publication does not change them.
 *
 * @since 0.1.0
 */
@FunctionalInterface
public interface OutboxContext {

	/**
	 * Describe the sender, on its thread.
	 * @param message a message that is being sent
	 * @return headers for it, none that it {@linkplain OutboxMessage#hasHeader has}
	 * already
	 */
	List<OutboxHeader> headers(OutboxMessage message);

}
