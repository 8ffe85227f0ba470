/**
 * The store in a relational database.
 */
@Internal
@NullMarked
package dev.idempotency.jdbc;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
