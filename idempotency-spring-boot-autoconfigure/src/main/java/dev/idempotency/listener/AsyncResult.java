package dev.idempotency.listener;

import java.lang.reflect.Method;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

import org.jspecify.annotations.Nullable;
import org.springframework.core.KotlinDetector;
import org.springframework.kafka.listener.adapter.AdapterUtils;

/**
 * How an asynchronous method answers.
 */
interface AsyncResult {

	/**
	 * A method that returns a future.
	 */
	AsyncResult FUTURE = new AsyncResult() {

		@Override
		@SuppressWarnings("unchecked")
		public CompletionStage<Object> stage(@Nullable Object returned) {
			return (returned != null) ? (CompletionStage<Object>) returned : CompletableFuture.completedFuture(null);
		}

		@Override
		public Object answer(CompletableFuture<Object> future) {
			return future;
		}

		@Override
		public Object wait(RuntimeException reason) {
			throw reason;
		}

	};

	/**
	 * Find out how a method answers.
	 * @param method the method
	 * @return its way, {@code null} if it is not asynchronous
	 */
	static @Nullable AsyncResult of(Method method) {
		if (KotlinDetector.isSuspendingFunction(method)) {
			return new MonoResult(true);
		}
		if (method.getReturnType() == CompletableFuture.class) {
			return FUTURE;
		}
		return AdapterUtils.isMono(method.getReturnType()) ? new MonoResult(false) : null;
	}

	/**
	 * What to wait for.
	 * @param returned what the method returned
	 * @return its signal
	 */
	CompletionStage<Object> stage(@Nullable Object returned);

	/**
	 * What the method is to have returned.
	 * @param future the answer
	 * @return the same in the method's own type
	 */
	Object answer(CompletableFuture<Object> future);

	/**
	 * Make the record come again. A failed answer would not do: Spring Kafka acknowledges
	 * the record before it looks at the failure.
	 * @param reason why
	 * @return what the method is to have returned, if the reason is thrown elsewhere
	 */
	Object wait(RuntimeException reason);

}
