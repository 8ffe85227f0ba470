/**
 * The engine: runs an operation once per key, in leased and in transactional mode.
 */
@NullMarked
package dev.idempotency.template;

import org.jspecify.annotations.NullMarked;
