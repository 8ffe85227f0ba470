package dev.idempotency.jdbc;

/**
 * How the records are kept in the database.
 *
 * @since 0.1.0
 */
public enum Layout {

	/**
	 * One table.
	 */
	SINGLE,

	/**
	 * A table with partitions that are dropped as a whole. PostgreSQL only.
	 */
	PARTITIONED

}
