/**
 * The idempotency store in DynamoDB.
 */
@NullMarked
package dev.idempotency.dynamodb;

import org.jspecify.annotations.NullMarked;
