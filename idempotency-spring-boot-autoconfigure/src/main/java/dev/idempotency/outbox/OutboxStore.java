package dev.idempotency.outbox;

import java.util.List;
import java.util.Set;
import java.util.UUID;

import dev.idempotency.IdempotencyStoreUnavailableException;

/**
 * Where messages are until they are published. Each method throws an
 * {@link IdempotencyStoreUnavailableException} when the store does not answer: the relay
 * tries again later, and a protected listener that sends waits.
 *
 * @since 0.1.0
 */
public interface OutboxStore {

	/**
	 * The name of the table.
	 * @return its name
	 */
	String table();

	/**
	 * Add messages, in the current transaction of the caller.
	 * @param rows the messages, in their order
	 * @throws IllegalStateException without a transaction of the outbox's database
	 */
	void insert(List<OutboxRow> rows);

	/**
	 * Claim messages that are to be published, in a transaction that lasts as long as the
	 * claim. Nobody else is given a message of the same topic and key before it ends, and
	 * nobody waits for it: what other claims hold is left out.
	 * @param limit how many messages, about
	 * @param without topics whose messages are not wanted now
	 * @return the claim
	 */
	OutboxClaim claim(int limit, Set<String> without);

	/**
	 * Claim messages of any topic.
	 * @param limit how many messages, about
	 * @return the claim
	 */
	default OutboxClaim claim(int limit) {
		return claim(limit, Set.of());
	}

	/**
	 * Tell the relays of other instances that there are messages, if that is possible.
	 */
	void notifyRelays();

	/**
	 * What is in the outbox.
	 * @return numbers
	 */
	OutboxStatus status();

	/**
	 * Messages that have been set aside, the latest first.
	 * @param limit how many at most
	 * @return the messages
	 */
	List<SetAside> setAside(int limit);

	/**
	 * Publish a message all the same that has been set aside.
	 * @param id its identity
	 * @return whether there is one
	 */
	boolean retry(UUID id);

	/**
	 * Publish messages all the same that have been set aside, those that were sent first.
	 * @param topic their topic
	 * @param limit how many at most
	 * @return how many there were
	 */
	int retry(String topic, int limit);

	/**
	 * Delete messages that have been set aside, those that were sent first.
	 * @param topic their topic
	 * @param limit how many at most
	 * @return how many there were
	 */
	int discard(String topic, int limit);

	/**
	 * Delete a message that has been set aside.
	 * @param id its identity
	 * @return whether there was one
	 */
	boolean discard(UUID id);

}
