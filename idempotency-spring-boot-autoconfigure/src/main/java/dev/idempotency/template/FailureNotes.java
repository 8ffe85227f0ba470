package dev.idempotency.template;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import dev.idempotency.OperationBlockedException;
import dev.idempotency.store.Settlement;
import dev.idempotency.template.IdempotencyListener.StoreCall;

/**
 * Records, on a thread of its own, the failures of handlers that ran in a transaction of
 * the caller. No handler waits for it. What it records is information only: without it
 * the key is as free as with it. A note that the store does not take, that comes after
 * the next execution, or that is one of too many, is dropped.
 */
final class FailureNotes implements AutoCloseable {

	private static final Log logger = LogFactory.getLog(FailureNotes.class);

	private static final int MAX_WAITING = 1000;

	private static final long LAST_WAIT_SECONDS = 5;

	private final StoreCalls calls;

	private final ThreadPoolExecutor executor;

	FailureNotes(StoreCalls calls, ThreadFactory threads) {
		this.calls = calls;
		this.executor = new ThreadPoolExecutor(1, 1, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>(MAX_WAITING),
				threads, new ThreadPoolExecutor.DiscardPolicy());
		this.executor.allowCoreThreadTimeOut(true);
	}

	/**
	 * Record a failure soon.
	 * @param operation the operation that failed
	 * @param note the call of the store
	 */
	void add(IdempotentOperation operation, Supplier<Settlement> note) {
		try {
			this.executor.execute(() -> record(operation, note));
		}
		catch (OutOfMemoryError ex) {
			logger.warn("No thread could be started to record a failure: " + operation
					+ "; the key is free all the same. Check the limits of the process", ex);
		}
	}

	private void record(IdempotentOperation operation, Supplier<Settlement> note) {
		try {
			if (this.calls.isPermitted()) {
				this.calls.call(StoreCall.FAIL, operation, note);
			}
		}
		catch (OperationBlockedException ex) {
			logger.debug("A failure was not recorded; the key is free all the same: " + operation, ex);
		}
	}

	@Override
	public void close() {
		this.executor.shutdown();
		try {
			if (!this.executor.awaitTermination(LAST_WAIT_SECONDS, TimeUnit.SECONDS)) {
				this.executor.shutdownNow();
			}
		}
		catch (InterruptedException ex) {
			this.executor.shutdownNow();
			Thread.currentThread().interrupt();
		}
	}

}
