package dev.idempotency.listener;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * A method that returns a {@code Mono}, or a suspending function, which its proxy turns
 * into one.
 *
 * @param suspending whether it is called only when the listener adapter subscribes
 */
record MonoResult(boolean suspending) implements AsyncResult {

	@Override
	@SuppressWarnings("unchecked")
	public CompletionStage<Object> stage(@Nullable Object returned) {
		if (returned == null) {
			return CompletableFuture.completedFuture(null);
		}
		CompletionStage<?> stage = ((Mono<?>) returned).toFuture();
		return (CompletionStage<Object>) stage;
	}

	@Override
	public Object answer(CompletableFuture<Object> future) {
		return Mono.fromFuture(future);
	}

	// Within a subscription an exception is a failed answer. The delivery listener throws
	// it as soon as the adapter has returned.
	@Override
	public Object wait(RuntimeException reason) {
		if (!this.suspending) {
			throw reason;
		}
		return Mono.never();
	}

}
