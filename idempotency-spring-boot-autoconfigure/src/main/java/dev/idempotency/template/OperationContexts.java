/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

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

	static final OpenContext NONE = () -> {
	};

	private static final Log logger = LogFactory.getLog(OperationContexts.class);

	OpenContext open(Function<OperationContext, @Nullable OpenContext> opening) {
		OpenContext opened = NONE;
		for (int i = 0; i < this.contexts.size(); i++) {
			OperationContext context = this.contexts.get(i);
			try {
				OpenContext open = opening.apply(context);
				if (open != null) {
					opened = (opened != NONE) ? new Opened(open, opened) : open;
				}
			}
			catch (Throwable ex) {
				failed(context, ex);
			}
		}
		return opened;
	}

	static void call(OpenContext open, Consumer<OpenContext> callback) {
		try {
			callback.accept(open);
		}
		catch (Throwable ex) {
			failed(open, ex);
		}
	}

	private static void failed(Object context, Throwable error) {
		logger.warn("The operation context " + context.getClass().getName()
				+ " threw an exception, which was dropped. Fix it", error);
	}

	private record Opened(OpenContext context, OpenContext outer) implements OpenContext {

		@Override
		public void close() {
			call(this.context, OpenContext::close);
			call(this.outer, OpenContext::close);
		}

		@Override
		public void ended(HandledOperation execution) {
			call(this.outer, (open) -> open.ended(execution));
			call(this.context, (open) -> open.ended(execution));
		}

	}

}
