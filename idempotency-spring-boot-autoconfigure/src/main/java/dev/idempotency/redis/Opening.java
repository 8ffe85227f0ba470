package dev.idempotency.redis;

import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

import io.lettuce.core.AbstractRedisClient;
import org.jspecify.annotations.Nullable;

/**
 * Opens something for a client, by one thread of its own: to connect may take longer than
 * a call may, and callers must not queue up for it. A failure is not remembered.
 *
 * @param <T> the type of what is opened
 */
final class Opening<T> {

	private final Supplier<T> supplier;

	private @Nullable AbstractRedisClient client;

	private @Nullable CompletableFuture<T> opened;

	Opening(Supplier<T> supplier) {
		this.supplier = supplier;
	}

	synchronized CompletableFuture<T> get(@Nullable AbstractRedisClient client) {
		CompletableFuture<T> current = this.opened;
		if (current == null || current.isCompletedExceptionally() || this.client != client) {
			current = new CompletableFuture<>();
			this.opened = current;
			this.client = client;
			start(current);
		}
		return current;
	}

	synchronized @Nullable T getNow() {
		CompletableFuture<T> current = this.opened;
		return (current != null && current.isDone() && !current.isCompletedExceptionally()) ? current.join() : null;
	}

	private void start(CompletableFuture<T> target) {
		Thread thread = new Thread(() -> {
			try {
				target.complete(this.supplier.get());
			}
			catch (Throwable ex) {
				target.completeExceptionally(ex);
			}
		}, "idempotency-redis-connect");
		thread.setDaemon(true);
		thread.start();
	}

}
