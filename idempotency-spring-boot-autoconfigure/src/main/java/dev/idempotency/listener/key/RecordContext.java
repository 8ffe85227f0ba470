/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.key;

import java.util.List;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.springframework.expression.EvaluationContext;
import org.springframework.expression.spel.support.StandardEvaluationContext;
import org.springframework.kafka.support.KafkaNull;
import org.springframework.messaging.Message;

/**
 * What an expression about a record may use.
 *
 * @param parameters the parameters of the listener method
 * @param record the record
 * @param arguments the arguments of the listener method
 * @param index the index of the record in its batch, -1 for a single record
 */
record RecordContext(ListenerParameters parameters, ConsumerRecord<?, ?> record, @Nullable Object[] arguments,
		int index) {

	private static final StandardEvaluationContext SHARED = new StandardEvaluationContext();

	// Most records need no evaluation.
	EvaluationContext evaluation() {
		return new Variables();
	}

	private @Nullable Object variable(String name) {
		return switch (name) {
			case "record" -> this.record;
			case "payload" -> payload();
			case "headers" -> TextHeaders.asMap(this.record.headers());
			default -> argument(this.parameters.index(name));
		};
	}

	// Each list argument of a batch listener has an element for each record.
	private @Nullable Object argument(int position) {
		Object argument = (position >= 0) ? this.arguments[position] : null;
		return (this.index >= 0 && argument instanceof List<?> list) ? list.get(this.index) : argument;
	}

	private @Nullable Object payload() {
		int position = this.parameters.payloadIndex();
		Object payload = (position >= 0) ? argument(position) : this.record.value();
		if (payload instanceof Message<?> message) {
			payload = message.getPayload();
		}
		else if (payload instanceof ConsumerRecord<?, ?>) {
			payload = this.record.value();
		}
		return (payload instanceof KafkaNull) ? null : payload;
	}

	/**
	 * All contexts share the resolvers, which are costly to create, and resolve a
	 * variable only when an expression uses it.
	 */
	private final class Variables extends StandardEvaluationContext {

		Variables() {
			SHARED.applyDelegatesTo(this);
		}

		@Override
		public @Nullable Object lookupVariable(String name) {
			return variable(name);
		}

		@Override
		public void setVariable(@Nullable String name, @Nullable Object value) {
			throw new UnsupportedOperationException("Expressions of @Idempotent cannot set variables");
		}

	}

}
