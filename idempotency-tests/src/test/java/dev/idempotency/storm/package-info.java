/**
 * Tests for processes that are killed or rebalanced under load.
 */
@NullMarked
package dev.idempotency.storm;

import org.jspecify.annotations.NullMarked;
