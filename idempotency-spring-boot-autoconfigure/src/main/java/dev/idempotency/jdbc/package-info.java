/**
 * The store in a relational database.
 */
@NullMarked
package dev.idempotency.jdbc;

import org.jspecify.annotations.NullMarked;
