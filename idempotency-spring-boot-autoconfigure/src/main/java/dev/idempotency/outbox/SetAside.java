package dev.idempotency.outbox;

import java.time.Instant;
import java.util.UUID;

import dev.idempotency.store.Failure;

/**
 * A message that the broker has refused so often that the relay has given it up.
 *
 * @param id its identity
 * @param topic where it should go
 * @param aggregateType what it is about
 * @param aggregateId which one
 * @param type what kind of event it is
 * @param idempotencyKey its idempotency key
 * @param createdAt when it was sent
 * @param setAsideAt when it was given up
 * @param attempts how often it was refused
 * @param failure the last refusal
 * @since 0.1.0
 */
public record SetAside(UUID id, String topic, String aggregateType, String aggregateId, String type,
		String idempotencyKey, Instant createdAt, Instant setAsideAt, int attempts, Failure failure) {

}
