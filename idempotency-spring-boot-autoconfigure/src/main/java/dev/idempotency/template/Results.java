package dev.idempotency.template;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.StoredResultUnreadableException;

/**
 * Writes results for the store, and reads the first ones of each listener and class back:
 * a result that can be written but not read is reported with the record that it belongs
 * to, not by the first duplicate.
 */
final class Results {

	private static final Log logger = LogFactory.getLog(Results.class);

	// More than one, because a first result may be empty or have null in it.
	private static final int READ_BACK = 10;

	private static final int MAX_CLASSES = 100;

	private final Map<String, Map<Class<?>, ReadBack>> listeners = new ConcurrentHashMap<>();

	/**
	 * Write a result after its effect: completing without a result is better than running
	 * the handler again.
	 * @param operation the operation
	 * @param result its result
	 * @param codec how the result is kept
	 * @param <T> the type of the result
	 * @return its bytes, {@code null} if there is nothing to keep or it cannot be written
	 */
	<T> byte @Nullable [] write(IdempotentOperation operation, @Nullable T result, ResultCodec<T> codec) {
		try {
			return writeOrFail(operation, result, codec);
		}
		catch (RuntimeException | LinkageError | StackOverflowError ex) {
			logger.error("The result cannot be stored, so duplicates will get none: " + operation
					+ "; make the result type serialisable", ex);
			return null;
		}
	}

	/**
	 * Write a result while the transaction of its effect can still be rolled back.
	 * @param operation the operation
	 * @param result its result
	 * @param codec how the result is kept
	 * @param <T> the type of the result
	 * @return its bytes, {@code null} if there is nothing to keep
	 */
	<T> byte @Nullable [] writeOrFail(IdempotentOperation operation, @Nullable T result, ResultCodec<T> codec) {
		byte[] bytes = codec.write(result);
		if (bytes != null && result != null) {
			readBack(operation, result, bytes, codec);
		}
		return bytes;
	}

	// The bytes are kept all the same: the effect counts, and a corrected type reads
	// them.
	private <T> void readBack(IdempotentOperation operation, T result, byte[] bytes, ResultCodec<T> codec) {
		ReadBack readBack = find(operation.name(), result.getClass());
		if (readBack == null || !readBack.isDue()) {
			return;
		}
		try {
			codec.read(bytes);
		}
		catch (RuntimeException | LinkageError | StackOverflowError ex) {
			if (readBack.isFirstFailure()) {
				StoredResultUnreadableException unreadable = new StoredResultUnreadableException("The result of "
						+ operation
						+ " can be stored but not read back, so duplicates of this and of similar operations "
						+ "are rejected and passed to the recoverer instead of suppressed; correct the result type or the "
						+ "types that it contains, here in " + result.getClass().getName(), ex);
				logger.error(unreadable.getMessage(), unreadable.getCause());
			}
		}
	}

	private @Nullable ReadBack find(String listener, Class<?> type) {
		Map<Class<?>, ReadBack> types = this.listeners.get(listener);
		if (types == null) {
			types = this.listeners.computeIfAbsent(listener, (name) -> new ConcurrentHashMap<>());
		}
		ReadBack readBack = types.get(type);
		if (readBack == null && types.size() < MAX_CLASSES) {
			readBack = types.computeIfAbsent(type, (any) -> new ReadBack());
		}
		return readBack;
	}

	/**
	 * How many results of one listener and class are still to be read back.
	 */
	private static final class ReadBack {

		private final AtomicInteger left = new AtomicInteger(READ_BACK);

		private final AtomicBoolean failed = new AtomicBoolean();

		boolean isDue() {
			return this.left.get() > 0 && this.left.getAndDecrement() > 0;
		}

		boolean isFirstFailure() {
			return this.failed.compareAndSet(false, true);
		}

	}

}
