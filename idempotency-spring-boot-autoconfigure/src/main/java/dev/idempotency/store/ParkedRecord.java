package dev.idempotency.store;

import java.util.UUID;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;

/**
 * A record of Kafka that is parked, with the bytes that its broker holds.
 *
 * @param partition its partition
 * @param offset its offset
 * @param timestamp its timestamp
 * @param timestampType the number of the type of its timestamp
 * @param key the bytes of its message key, {@code null} if it has none
 * @param headers its headers, encoded by the caller
 * @param value the bytes of its value, {@code null} if it has none
 * @since 0.1.0
 */
public record ParkedRecord(ParkedPartition partition, long offset, long timestamp, int timestampType,
		byte @Nullable [] key, byte[] headers, byte @Nullable [] value) {

	/**
	 * Return a primary key of fixed size. A record that is delivered again has the same
	 * one. A record with the same offset of a topic that was created again differs by its
	 * timestamp.
	 * @return the identifier
	 */
	public UUID id() {
		return id(this.partition, this.offset, this.timestamp);
	}

	/**
	 * Return the primary key of a record.
	 * @param partition its partition
	 * @param offset its offset
	 * @param timestamp its timestamp
	 * @return the identifier
	 */
	public static UUID id(ParkedPartition partition, long offset, long timestamp) {
		return IdempotencyKey
			.of(partition.scope(), partition.topic() + "-" + partition.partition() + "@" + offset + "#" + timestamp)
			.id();
	}

	@Override
	public String toString() {
		return "offset " + this.offset + " of partition " + this.partition.partition() + " of topic "
				+ this.partition.topic();
	}

}
