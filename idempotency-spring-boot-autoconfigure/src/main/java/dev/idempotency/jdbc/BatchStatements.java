package dev.idempotency.jdbc;

import java.util.List;

/**
 * The statements of a dialect for several records, with their parameters in the order of
 * binding. Unless they are said to be one value, parameters are arrays of equal length.
 * Locks are taken in the order of the ids, so that two batches never wait for each other.
 * The settlements of leased claims return the tokens of the records they changed,
 * {@code noteFailures} returns the ids.
 *
 * @param claim claims, one after the other those that are still without an answer: state
 * (one value), id, scope, key, token, fingerprint, lease, retention. Columns as of the
 * single claim, and the id; no row if another transaction came between: repeat
 * @param complete id, token, result; of this and the next three the second one after a
 * wait in vain
 * @param fail id, token, error type (one value), error message (one value)
 * @param release id, token
 * @param renew id, token, lease
 * @param noteFailures notes failures of records that are free: error type (one value),
 * error message (one value), id, scope, key, fingerprint, retention; the last one key by
 * key after a wait in vain
 * @param storeResults adds results to records of the current transaction: id, result
 * @param known returns the ids of those that there is a record for: id
 */
record BatchStatements(List<String> claim, List<String> complete, List<String> fail, List<String> release,
		List<String> renew, List<String> noteFailures, String storeResults, String known) {

}
