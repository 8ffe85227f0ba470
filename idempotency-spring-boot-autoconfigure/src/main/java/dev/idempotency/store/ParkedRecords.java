package dev.idempotency.store;

import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

import org.jspecify.annotations.Nullable;

/**
 * Records of Kafka that wait for the owner of their key outside of their partition, so
 * that its other records need not wait. The records of a partition are kept in the order
 * in which they were parked.
 * <p>
 * Each method is a transaction of its own.
 *
 * @since 0.1.0
 */
public interface ParkedRecords {

	/**
	 * The reason why no records can be parked, determined at start-up.
	 * @return the reason, as a sentence without a full stop; {@code null} if there is
	 * none
	 */
	default @Nullable String problem() {
		return null;
	}

	/**
	 * Take over a partition, and read its parked records. From now on, only this owner
	 * can park records of the partition. A record that an earlier owner has parked is
	 * either in the result, or its {@link #park} returns {@code false}.
	 * @param partition the partition
	 * @param owner a fresh random value
	 * @return the parked records, in their order
	 */
	List<Waiting> takeOver(ParkedPartition partition, UUID owner);

	/**
	 * Park a record behind those of its partition. A record that is already parked keeps
	 * its place.
	 * @param record the record
	 * @param owner the owner
	 * @return {@code false} if another owner has taken over the partition, so that
	 * nothing was changed
	 */
	boolean park(ParkedRecord record, UUID owner);

	/**
	 * Read a parked record.
	 * @param id its identifier
	 * @return the record, empty if it is no longer parked
	 */
	Optional<ParkedRecord> find(UUID id);

	/**
	 * Count an attempt to process a record.
	 * @param id its identifier
	 */
	void countAttempt(UUID id);

	/**
	 * Remove a record that is done.
	 * @param id its identifier
	 */
	void remove(UUID id);

	/**
	 * Summarize the parked records of each scope.
	 * @return the summaries, ordered by scope
	 */
	List<Summary> summaries();

	/**
	 * List parked records for an operator, ordered by scope, topic, partition and their
	 * order.
	 * @param limit the largest number of records
	 * @return the records
	 */
	List<StoredRecord> list(int limit);

	/**
	 * A parked record, without its value.
	 *
	 * @param id its identifier
	 * @param offset its offset
	 * @param key the bytes of its message key, {@code null} if it has none
	 * @param headers its headers, as they were parked
	 * @param parkedAt the time at which it was parked
	 */
	record Waiting(UUID id, long offset, byte @Nullable [] key, byte[] headers, Instant parkedAt) {

	}

	/**
	 * The parked records of a scope.
	 *
	 * @param scope the scope
	 * @param records their number
	 * @param oldest the time at which the oldest of them was parked
	 */
	record Summary(String scope, long records, Instant oldest) {

	}

	/**
	 * A parked record, as an operator sees it.
	 *
	 * @param scope the scope
	 * @param topic the topic
	 * @param partition the partition
	 * @param offset the offset
	 * @param key the bytes of its message key, {@code null} if it has none
	 * @param attempts how often it was tried to process the record
	 * @param parkedAt the time at which it was parked
	 */
	record StoredRecord(String scope, String topic, int partition, long offset, byte @Nullable [] key, int attempts,
			Instant parkedAt) {

	}

}
