package dev.idempotency.listener.async;

import java.lang.reflect.Method;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;

import org.jspecify.annotations.Nullable;
import org.springframework.core.KotlinDetector;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.kafka.listener.adapter.AdapterUtils;
import reactor.core.publisher.Mono;

/**
 * Converts between the return type of an asynchronous listener method and a
 * {@link CompletableFuture}.
 */
public interface AsyncResult {

	static @Nullable AsyncResult of(Method method) {
		if (KotlinDetector.isSuspendingFunction(method)) {
			return new MonoResult(true);
		}
		if (method.getReturnType() == CompletableFuture.class) {
			return new FutureResult();
		}
		return AdapterUtils.isMono(method.getReturnType()) ? new MonoResult(false) : null;
	}

	static boolean isReactive(Class<?> type) {
		return ReactiveAdapterRegistry.getSharedInstance().getAdapter(type) != null;
	}

	// Whether a value of a type may be computed after the method has returned.
	static boolean isAsynchronous(Class<?> type) {
		return Future.class.isAssignableFrom(type) || CompletionStage.class.isAssignableFrom(type) || isReactive(type);
	}

	CompletionStage<Object> stage(Object returned);

	Object convert(CompletableFuture<Object> future);

	// Make Spring Kafka redeliver the record, which is blocked. A failed future does
	// not do that at once: the container would handle it only after the next poll.
	Object redeliver(RuntimeException reason);

	record FutureResult() implements AsyncResult {

		@Override
		@SuppressWarnings("unchecked")
		public CompletionStage<Object> stage(Object returned) {
			return (CompletionStage<Object>) returned;
		}

		@Override
		public Object convert(CompletableFuture<Object> future) {
			return future;
		}

		@Override
		public Object redeliver(RuntimeException reason) {
			throw reason;
		}

	}

	/**
	 * For a method that returns a {@code Mono}, and for a suspending function, which its
	 * proxy converts to a {@code Mono}.
	 *
	 * @param suspending whether the method is called only when the listener adapter
	 * subscribes
	 */
	record MonoResult(boolean suspending) implements AsyncResult {

		@Override
		@SuppressWarnings("unchecked")
		public CompletionStage<Object> stage(Object returned) {
			return ((Mono<Object>) returned).toFuture();
		}

		@Override
		public Object convert(CompletableFuture<Object> future) {
			return Mono.fromFuture(future);
		}

		// During a subscription, an exception is a failed Mono. The delivery listener
		// throws the reason as soon as the adapter has returned.
		@Override
		public Object redeliver(RuntimeException reason) {
			if (!this.suspending) {
				throw reason;
			}
			return Mono.never();
		}

	}

}
