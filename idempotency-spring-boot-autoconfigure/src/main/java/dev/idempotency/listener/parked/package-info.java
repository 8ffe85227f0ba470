/**
 * Parks blocked records in a table, so that the other records of their partition need not
 * wait, and processes them when their key is free.
 */
@NullMarked
package dev.idempotency.listener.parked;

import org.jspecify.annotations.NullMarked;
