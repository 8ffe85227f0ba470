package dev.idempotency.outbox;

import java.util.UUID;

import dev.idempotency.IdempotencyStoreUnavailableException;

/**
 * Turns a message into bytes, as the application's own way of sending does.
 *
 * @since 0.1.0
 */
@FunctionalInterface
public interface OutboxSerializer {

	/**
	 * Serialise a message.
	 * @param message the message
	 * @param id its identity
	 * @param idempotencyKey its idempotency key
	 * @return the message as it is stored
	 * @throws IllegalArgumentException if it cannot be serialised
	 * @throws IdempotencyStoreUnavailableException if it cannot be serialised now,
	 * because a server is unavailable that knows its schema
	 */
	OutboxRow serialize(OutboxMessage message, UUID id, String idempotencyKey);

}
