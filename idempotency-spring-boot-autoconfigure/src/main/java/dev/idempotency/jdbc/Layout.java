package dev.idempotency.jdbc;

/**
 * The layout of the records in the database.
 *
 * @since 0.1.0
 */
public enum Layout {

	/**
	 * A single table.
	 */
	SINGLE,

	/**
	 * A partitioned table, whose expired partitions are dropped as a whole. PostgreSQL
	 * only.
	 */
	PARTITIONED

}
