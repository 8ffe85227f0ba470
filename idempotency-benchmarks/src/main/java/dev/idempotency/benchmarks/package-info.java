/**
 * Benchmarks of the cost of protection.
 */
@NullMarked
package dev.idempotency.benchmarks;

import org.jspecify.annotations.NullMarked;
