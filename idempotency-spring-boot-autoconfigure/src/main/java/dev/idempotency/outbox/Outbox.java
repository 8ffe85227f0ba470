package dev.idempotency.outbox;

import java.util.List;

import org.jspecify.annotations.Nullable;
import org.springframework.dao.InvalidDataAccessResourceUsageException;

import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationInProgressException;

/**
 * Sends messages with the transaction of the caller: they are rows of its database until
 * it has committed, and a relay publishes them then.
 * <p>
 * Guaranteed: a message of a transaction that commits is published at least once, unless
 * the broker refuses it so often that it is set aside for a person to decide; one of a
 * transaction that rolls back never. Each publication of a message carries the same
 * {@code Idempotency-Key}, so that an idempotent consumer applies it once. Messages with
 * the same topic and key are published in the order in which they were sent, those of
 * different transactions if one has waited for the other before it sent, as on the row of
 * an account that both change.
 * <p>
 * Not guaranteed: an order among messages with different keys or without one, one among
 * transactions that did not wait for each other, and the place of a message that was set
 * aside: later ones with its key pass it.
 * <p>
 * To be used on the thread of the transaction. In a protected listener an
 * {@link IdempotencyStoreUnavailableException} and an
 * {@link OperationInProgressException} make the record wait, as those of the store do.
 *
 * @since 0.1.0
 */
public interface Outbox {

	/**
	 * Send messages. That takes one round trip to the database.
	 * @param messages the messages, in their order
	 * @throws IllegalStateException without a transaction of the outbox's database
	 * @throws IllegalArgumentException if a message cannot be serialised
	 * @throws IdempotencyStoreUnavailableException if the database does not answer, or a
	 * schema registry that the serializer asks
	 * @throws OperationInProgressException if the database ends the statement because of
	 * a concurrent transaction: a lock that took too long, a deadlock, a serialization
	 * failure
	 * @throws InvalidDataAccessResourceUsageException if the database refuses the rows
	 */
	void send(List<OutboxMessage> messages);

	/**
	 * Send a message.
	 * @param message the message
	 * @throws IllegalStateException without a transaction of the outbox's database
	 * @throws IllegalArgumentException if it cannot be serialised
	 * @throws IdempotencyStoreUnavailableException if the database does not answer, or a
	 * schema registry that the serializer asks
	 * @throws OperationInProgressException if the database ends the statement because of
	 * a concurrent transaction: a lock that took too long, a deadlock, a serialization
	 * failure
	 * @throws InvalidDataAccessResourceUsageException if the database refuses the row
	 */
	default void send(OutboxMessage message) {
		send(List.of(message));
	}

	/**
	 * Send a message.
	 * @param topic where to
	 * @param key its message key, as the application's {@code KafkaTemplate} takes it
	 * @param payload its payload, as the application's {@code KafkaTemplate} takes it
	 * @throws IllegalStateException without a transaction of the outbox's database
	 * @throws IllegalArgumentException if it cannot be serialised
	 * @throws IdempotencyStoreUnavailableException if the database does not answer, or a
	 * schema registry that the serializer asks
	 * @throws OperationInProgressException if the database ends the statement because of
	 * a concurrent transaction: a lock that took too long, a deadlock, a serialization
	 * failure
	 * @throws InvalidDataAccessResourceUsageException if the database refuses the row
	 */
	default void send(String topic, @Nullable Object key, @Nullable Object payload) {
		send(OutboxMessage.to(topic).key(key).payload(payload).build());
	}

}
