package dev.idempotency.template;

import java.util.List;
import java.util.SortedMap;

import org.jspecify.annotations.Nullable;

import dev.idempotency.OperationBlockedException;

/**
 * What came of a batch.
 *
 * @param answers for each part what came of it, {@code null} if it is not done and has to
 * be delivered again
 * @param waiting the parts that can neither be handled nor skipped now, by their index;
 * what comes after them in their lane waits with them
 * @param failedAt the index of the part that failed or can never be handled; what comes
 * after it is not done. -1 if there is none, or if nobody knows which one failed
 * @param failure why; {@code null} if nothing failed
 * @param <T> the type of the result of a part
 * @since 0.1.0
 */
public record BatchExecuted<T>(List<@Nullable Executed<T>> answers,
		SortedMap<Integer, OperationBlockedException> waiting, int failedAt, @Nullable Throwable failure) {

}
