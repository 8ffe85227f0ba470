package dev.idempotency;

/**
 * The way in which a record that was processed before is recognized.
 *
 * @since 0.1.0
 */
public enum By {

	/**
	 * The default: by its idempotency key. The store keeps one record for each key for
	 * the time of the retention. A message that its producer sends twice takes effect
	 * once.
	 */
	KEY,

	/**
	 * By its offset. The store keeps one row for each partition, with the offset of the
	 * last processed record, which is updated in the transaction of the listener. A
	 * redelivered record is recognized, whenever it is redelivered; a message that its
	 * producer sends twice is not. It requires transactional mode, a synchronous method
	 * that returns nothing, and records that are processed in the order of their
	 * partition: no retry topics and no asynchronous acknowledgments.
	 */
	OFFSET

}
