/**
 * The local cache of completed keys, by Caffeine.
 */
@NullMarked
package dev.idempotency.caffeine;

import org.jspecify.annotations.NullMarked;
