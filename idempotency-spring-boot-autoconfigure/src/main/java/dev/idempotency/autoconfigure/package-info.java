/**
 * Auto-configuration: the properties, one class per concern and the failure analyzers.
 */
@NullMarked
package dev.idempotency.autoconfigure;

import org.jspecify.annotations.NullMarked;
