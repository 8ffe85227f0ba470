package dev.idempotency.store;

import java.time.Duration;

/**
 * Records whose retention may be over.
 *
 * @since 0.1.0
 */
public interface ExpiredRecords {

	/**
	 * Where the records are kept.
	 * @return the name of the table
	 */
	String table();

	/**
	 * Do what each run of the cleanup begins with, whatever is left of earlier runs. An
	 * error must not keep expired records from being deleted.
	 */
	default void maintain() {
	}

	/**
	 * Wait a little, then delete one batch. Where the store can, the wait keeps other
	 * processes out as the deletion does: who finds another one waiting or deleting
	 * returns at once. No record is locked while it waits, and none that is in use is
	 * waited for.
	 * @param limit how many records at most
	 * @param pause how long to wait; an interrupt ends it, and then nothing is deleted
	 * @return the number of deleted records; less than the limit if nothing more is to be
	 * done by this process now
	 */
	int deleteExpired(int limit, Duration pause);

	/**
	 * Delete one batch without waiting.
	 * @param limit how many records at most
	 * @return the number of deleted records
	 */
	default int deleteExpired(int limit) {
		return deleteExpired(limit, Duration.ZERO);
	}

	/**
	 * How long the oldest record that may be deleted has been waiting for it. Cheap also
	 * for many records.
	 * @return the time since it expired, zero if there is none
	 */
	Duration backlogAge();

}
