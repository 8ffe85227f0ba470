package dev.idempotency.outbox;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * A message that could not be published.
 *
 * @param claimed the message
 * @param attempts how often it has been refused by now
 * @param error why
 * @param retryAfter when to try again, {@code null} to set it aside
 * @since 0.1.0
 */
public record RelayFailure(ClaimedRow claimed, int attempts, Throwable error, @Nullable Duration retryAfter) {

}
