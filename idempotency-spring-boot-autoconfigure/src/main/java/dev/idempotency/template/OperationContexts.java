package dev.idempotency.template;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.template.IdempotencyListener.Execution;

/**
 * All {@link OperationContext contexts}; what one of them throws is logged and ignored.
 */
final class OperationContexts implements OperationContext {

	private static final Log logger = LogFactory.getLog(OperationContexts.class);

	private final List<OperationContext> contexts;

	OperationContexts(List<OperationContext> contexts) {
		this.contexts = contexts;
	}

	@Override
	public @Nullable Scope begin(IdempotentOperation operation) {
		return this.contexts.isEmpty() ? null : open((context) -> context.begin(operation));
	}

	@Override
	public @Nullable Scope beginBatch(String scope) {
		return this.contexts.isEmpty() ? null : open((context) -> context.beginBatch(scope));
	}

	private @Nullable Scope open(Function<OperationContext, @Nullable Scope> opening) {
		List<Scope> scopes = new ArrayList<>(this.contexts.size());
		for (OperationContext context : this.contexts) {
			try {
				Scope scope = opening.apply(context);
				if (scope != null) {
					scopes.add(scope);
				}
			}
			catch (RuntimeException ex) {
				failed(context, ex);
			}
		}
		return scopes.isEmpty() ? null : new Scopes(scopes);
	}

	private static void failed(Object what, RuntimeException error) {
		logger.warn("The operation context " + what.getClass().getName() + " failed; mend it", error);
	}

	/**
	 * The scopes of one delivery.
	 *
	 * @param scopes in the order of their opening
	 */
	private record Scopes(List<Scope> scopes) implements Scope {

		@Override
		public void close() {
			for (int i = this.scopes.size() - 1; i >= 0; i--) {
				tell(this.scopes.get(i), Scope::close);
			}
		}

		@Override
		public void ended(Execution execution) {
			this.scopes.forEach((scope) -> tell(scope, (one) -> one.ended(execution)));
		}

		private static void tell(Scope scope, Consumer<Scope> event) {
			try {
				event.accept(scope);
			}
			catch (RuntimeException ex) {
				failed(scope, ex);
			}
		}

	}

}
