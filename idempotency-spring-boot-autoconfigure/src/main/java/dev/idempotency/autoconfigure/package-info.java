/**
 * Auto-configuration: the properties, one class for each store and each technology, and
 * the failure analyzers.
 */
@NullMarked
package dev.idempotency.autoconfigure;

import org.jspecify.annotations.NullMarked;
