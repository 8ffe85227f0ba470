/**
 * The local cache of completed keys, on Caffeine.
 */
@NullMarked
package dev.idempotency.caffeine;

import org.jspecify.annotations.NullMarked;
