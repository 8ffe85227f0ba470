package dev.idempotency.jdbc;

/**
 * The statements of a dialect, with their parameters in the order of binding. The first
 * parameter of those that may wait for a lock is how long, as text such as
 * {@code 1000ms}.
 *
 * @param insert inserts a completed record, and returns a row if it did: wait, id, scope,
 * key, fingerprint, retention
 * @param claim claims: wait, id, scope, key, state, token, fingerprint, lease, retention.
 * Columns: outcome ({@code A}, or the state of a record that is not free), fence,
 * attempt, fingerprint, result, remaining lease in milliseconds. Outcome {@code R} if
 * another transaction came between: repeat
 * @param complete result, id, token
 * @param storeResult adds a result to the record of the current transaction: result, id
 * @param fail error type, error message, id, token
 * @param noteFailure notes a failure unless somebody has the record: wait, id, scope,
 * key, fingerprint, retention, error type, error message
 * @param release id, token
 * @param renew lease, id, token
 * @param find id. Columns: state, fence, attempt, lease_until, created_at, expires_at,
 * error_type, error_message
 * @param deleteExpired the name of the table, limit
 */
record Statements(String insert, String claim, String complete, String storeResult, String fail, String noteFailure,
		String release, String renew, String find, String deleteExpired) {

}
