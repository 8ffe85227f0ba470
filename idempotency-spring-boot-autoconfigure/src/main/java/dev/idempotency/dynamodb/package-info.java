/**
 * The idempotency store in DynamoDB.
 */
@Internal
@NullMarked
package dev.idempotency.dynamodb;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
