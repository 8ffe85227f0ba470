package dev.idempotency.redis;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadFactory;
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

	private final ThreadFactory threads;

	private @Nullable AbstractRedisClient client;

	private @Nullable CompletableFuture<T> opened;

	Opening(Supplier<T> supplier) {
		this(supplier, Opening::thread);
	}

	Opening(Supplier<T> supplier, ThreadFactory threads) {
		this.supplier = supplier;
		this.threads = threads;
	}

	private static Thread thread(Runnable task) {
		Thread thread = new Thread(task, "idempotency-redis-connect");
		thread.setDaemon(true);
		return thread;
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
		try {
			this.threads.newThread(() -> open(target)).start();
		}
		catch (Throwable ex) {
			target.completeExceptionally(ex);
		}
	}

	private void open(CompletableFuture<T> target) {
		try {
			target.complete(this.supplier.get());
		}
		catch (Throwable ex) {
			target.completeExceptionally(ex);
		}
	}

}
