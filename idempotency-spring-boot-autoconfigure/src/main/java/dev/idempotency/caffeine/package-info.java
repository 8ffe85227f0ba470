/**
 * The local cache of completed keys, on Caffeine.
 */
@Internal
@NullMarked
package dev.idempotency.caffeine;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
