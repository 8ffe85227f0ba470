package dev.idempotency;

/**
 * What happens to a record for which no usable idempotency key is found.
 *
 * @since 0.1.0
 */
public enum MissingKeyPolicy {

	/**
	 * The default: what {@code idempotency.key.on-missing} says.
	 */
	DEFAULT,

	/**
	 * Topic, partition, offset and timestamp of the record become the key, on the retry
	 * topics of the listener those of the original record. This protects from re-delivery
	 * only, not from a message that was sent twice.
	 */
	RECORD_COORDINATES,

	/**
	 * The record is handed to the recoverer of the container's error handler at once.
	 */
	REJECT,

	/**
	 * The record is processed without protection, and counted.
	 */
	PROCESS

}
