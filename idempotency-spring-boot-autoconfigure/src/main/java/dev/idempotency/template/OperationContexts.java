package dev.idempotency.template;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.template.OperationContext.OpenContext;
import dev.idempotency.template.OperationObserver.HandledOperation;

/**
 * Calls all {@link OperationContext contexts}, and logs and drops their exceptions.
 */
record OperationContexts(List<OperationContext> contexts) {

	static final OpenContext NONE = new AllOpen(List.of());

	private static final Log logger = LogFactory.getLog(OperationContexts.class);

	OpenContext begin(IdempotentOperation operation) {
		return this.contexts.isEmpty() ? NONE : open((context) -> context.begin(operation));
	}

	OpenContext beginBatch(String scope) {
		return this.contexts.isEmpty() ? NONE : open((context) -> context.beginBatch(scope));
	}

	private OpenContext open(Function<OperationContext, @Nullable OpenContext> opening) {
		List<OpenContext> opened = new ArrayList<>(this.contexts.size());
		for (OperationContext context : this.contexts) {
			try {
				OpenContext open = opening.apply(context);
				if (open != null) {
					opened.add(open);
				}
			}
			catch (RuntimeException ex) {
				failed(context, ex);
			}
		}
		return opened.isEmpty() ? NONE : new AllOpen(opened);
	}

	private static void failed(Object context, RuntimeException error) {
		logger.warn("The operation context " + context.getClass().getName()
				+ " threw an exception, which was dropped. Fix it", error);
	}

	private record AllOpen(List<OpenContext> contexts) implements OpenContext {

		@Override
		public void close() {
			for (int i = this.contexts.size() - 1; i >= 0; i--) {
				call(this.contexts.get(i), OpenContext::close);
			}
		}

		@Override
		public void ended(HandledOperation execution) {
			for (OpenContext open : this.contexts) {
				call(open, (each) -> each.ended(execution));
			}
		}

		private static void call(OpenContext open, Consumer<OpenContext> callback) {
			try {
				callback.accept(open);
			}
			catch (RuntimeException ex) {
				failed(open, ex);
			}
		}

	}

}
