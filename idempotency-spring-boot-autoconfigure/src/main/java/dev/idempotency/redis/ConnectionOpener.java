package dev.idempotency.redis;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadFactory;
import java.util.function.Supplier;

import io.lettuce.core.AbstractRedisClient;
import org.jspecify.annotations.Nullable;

/**
 * Opens a connection on a thread of its own, once for each client. Connecting may take
 * longer than the timeout of a call, and concurrent callers must not connect one after
 * the other. After a failure the next call opens the connection again.
 *
 * @param <T> type of the connection
 */
final class ConnectionOpener<T> {

	private final Supplier<T> supplier;

	private final ThreadFactory threads;

	private @Nullable AbstractRedisClient client;

	private @Nullable CompletableFuture<T> connection;

	ConnectionOpener(Supplier<T> supplier) {
		this(supplier, ConnectionOpener::thread);
	}

	ConnectionOpener(Supplier<T> supplier, ThreadFactory threads) {
		this.supplier = supplier;
		this.threads = threads;
	}

	private static Thread thread(Runnable task) {
		Thread thread = new Thread(task, "idempotency-redis-connect");
		thread.setDaemon(true);
		return thread;
	}

	synchronized CompletableFuture<T> open(@Nullable AbstractRedisClient client) {
		CompletableFuture<T> current = this.connection;
		if (current == null || current.isCompletedExceptionally() || this.client != client) {
			current = new CompletableFuture<>();
			this.connection = current;
			this.client = client;
			start(current);
		}
		return current;
	}

	private void start(CompletableFuture<T> target) {
		try {
			this.threads.newThread(() -> complete(target)).start();
		}
		catch (Throwable ex) {
			target.completeExceptionally(ex);
		}
	}

	private void complete(CompletableFuture<T> target) {
		try {
			target.complete(this.supplier.get());
		}
		catch (Throwable ex) {
			target.completeExceptionally(ex);
		}
	}

	synchronized @Nullable T getIfOpen() {
		CompletableFuture<T> current = this.connection;
		return (current != null && current.isDone() && !current.isCompletedExceptionally()) ? current.join() : null;
	}

}
