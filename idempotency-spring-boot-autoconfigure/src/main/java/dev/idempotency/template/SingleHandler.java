package dev.idempotency.template;

import java.util.Collections;
import java.util.List;
import java.util.Objects;

import org.jspecify.annotations.Nullable;

import dev.idempotency.OperationBlockedException;
import dev.idempotency.template.BatchHandler.BatchResult;
import dev.idempotency.template.IdempotentOperation.Handler;

/**
 * The handler of a single operation, as that of a batch of one.
 *
 * @param <E> the type of the exception that the handler throws
 */
final class SingleHandler<E extends Throwable> implements BatchHandler<Object> {

	private final Handler<?, E> handler;

	private @Nullable Throwable failure;

	SingleHandler(Handler<?, E> handler) {
		this.handler = handler;
	}

	@Override
	public List<@Nullable Object> handle(List<Integer> due) throws E {
		return Collections.singletonList(this.handler.handle());
	}

	// Called with what the handler, or the commit of its transaction, has thrown.
	@Override
	public int failedAt(Throwable error) {
		this.failure = error;
		return 0;
	}

	// The result of the operation, or its exception as it was thrown: the result of a
	// batch has the reason why the handler is blocked instead of its exception.
	@SuppressWarnings("unchecked")
	<T> IdempotentResult<T> resultOf(BatchResult<Object> ended) throws E {
		IdempotentResult<Object> result = ended.results().get(0);
		if (result != null) {
			return Declined.resultOf(result);
		}
		OperationBlockedException blocked = ended.blocked().get(0);
		if (this.failure != null && OperationBlockedException.in(this.failure) == blocked) {
			throw (E) this.failure;
		}
		if (blocked != null) {
			throw blocked;
		}
		throw (E) Objects.requireNonNull(ended.failure());
	}

}
