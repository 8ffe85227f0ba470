/**
 * The idempotency store in Redis.
 */
@Internal
@NullMarked
package dev.idempotency.redis;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
