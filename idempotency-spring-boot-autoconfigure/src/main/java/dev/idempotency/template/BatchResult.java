package dev.idempotency.template;

import java.util.List;
import java.util.SortedMap;

import org.jspecify.annotations.Nullable;

import dev.idempotency.OperationBlockedException;

/**
 * The result of a batch.
 *
 * @param results the result of each item, {@code null} if the item is not done and has to
 * be redelivered
 * @param blocked the items that can neither be handled nor skipped now, by their index.
 * The later items of their lane are not done either
 * @param failedAt the index of the item that failed or can never be handled; the items
 * after it are not done. -1 if there is none, or if the failed item is unknown
 * @param failure the reason, {@code null} if nothing failed
 * @param <T> the type of the result of an item
 * @since 0.1.0
 */
public record BatchResult<T>(List<@Nullable IdempotentResult<T>> results,
		SortedMap<Integer, OperationBlockedException> blocked, int failedAt, @Nullable Throwable failure) {

}
