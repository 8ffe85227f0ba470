package dev.idempotency.jdbc;

/**
 * A column of a table in the database.
 *
 * @param name the name, in lower case
 * @param type the type, as the database names it
 * @param notNull whether the column is NOT NULL
 * @param generated whether the database sets the column if an insert does not
 */
record FoundColumn(String name, String type, boolean notNull, boolean generated) {

}
