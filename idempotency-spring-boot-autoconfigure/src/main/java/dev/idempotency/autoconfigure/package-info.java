/**
 * The wiring: properties, one auto-configuration for each concern, and failure analysis.
 */
@NullMarked
package dev.idempotency.autoconfigure;

import org.jspecify.annotations.NullMarked;
