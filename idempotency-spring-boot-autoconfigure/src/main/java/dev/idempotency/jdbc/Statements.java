package dev.idempotency.jdbc;

import java.util.List;

/**
 * The statements of a dialect, with their parameters in the order of binding.
 *
 * @param insert inserts a completed record, and returns a row if it did: id, scope, key,
 * fingerprint, retention
 * @param claim claims, one after the other until a row answers: id, scope, key, state,
 * token, fingerprint, lease, retention. Columns: outcome ({@code A}, or the state of a
 * record that is not free), fence, attempt, fingerprint, result, remaining lease in
 * milliseconds. Outcome {@code R}, or no row at the end, if another transaction came
 * between: repeat
 * @param complete result, id, token
 * @param storeResult adds a result to the record of the current transaction: result, id
 * @param fail error type, error message, id, token
 * @param noteFailure notes a failure unless somebody has the record: id, scope, key,
 * fingerprint, retention, error type, error message
 * @param release id, token
 * @param renew lease, id, token
 * @param restore inserts a claim, or renews it if it is there, and changes or returns a
 * row if it did: id, scope, key, fence, attempt, token, fingerprint, lease, retention
 * @param batches those for several records
 * @param find id. Columns: state, fence, attempt, lease_until, created_at, expires_at,
 * completed_at, error_type, error_message
 * @param deleteExpired deletes a batch: how long its rows have been expired at least, in
 * milliseconds, when the last row of the batch before had expired, limit. Columns: number
 * of deleted rows, when the last of them had expired
 */
record Statements(String insert, List<String> claim, String complete, String storeResult, String fail,
		String noteFailure, String release, String renew, String restore, BatchStatements batches, String find,
		String deleteExpired) {

}
