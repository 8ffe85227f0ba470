/**
 * The idempotency store in Redis.
 */
@NullMarked
package dev.idempotency.redis;

import org.jspecify.annotations.NullMarked;
