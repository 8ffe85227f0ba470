package dev.idempotency.cleanup;

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
	 * Delete one batch. Deletes nothing while another process does the same, and never
	 * waits for a record that is in use.
	 * @param limit how many records at most
	 * @return the number of deleted records
	 */
	int deleteExpired(int limit);

}
