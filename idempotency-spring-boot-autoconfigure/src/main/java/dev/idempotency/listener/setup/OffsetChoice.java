/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.setup;

import java.util.Arrays;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.clients.consumer.Consumer;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.listener.ConsumerSeekAware;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.util.StringUtils;

import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.Mode;
import dev.idempotency.listener.delivery.TopicIdentities;
import dev.idempotency.listener.key.ListenerExpressions;
import dev.idempotency.listener.key.ListenerScope;
import dev.idempotency.listener.method.ListenerShape;
import dev.idempotency.template.IdempotencyTemplate;

/**
 * Decides whether the offsets of a listener's records are compared. They must reach the
 * method in the order of their partition, because a record below the mark of its
 * partition is skipped.
 *
 * @param container the container
 * @param scope the scope of its records
 * @param main whether it is that of the main endpoint, not of a retry topic
 * @param identities the identities of its topics
 * @param function whether the listener is a function of Spring Cloud Stream
 */
record OffsetChoice(MessageListenerContainer container, ListenerScope scope, boolean main, TopicIdentities identities,
		boolean function) {

	private static final Log logger = LogFactory.getLog(OffsetChoice.class);

	private static final String REFUSED = "is to recognize its records by their offsets, but ";

	MissingKeyPolicy choose(ListenerExpressions expressions, MissingKeyPolicy policy, ListenerShape shape, Mode mode,
			boolean returnsResult, IdempotencyTemplate template) {
		boolean required = policy == MissingKeyPolicy.OFFSET;
		if (!required && policy != MissingKeyPolicy.DEFAULT) {
			return policy;
		}
		if (expressions.isKeyless() && expressions.hasFingerprint()) {
			throw shape.mistake(REFUSED + "its @Idempotent sets 'fingerprint', which needs keys",
					"Remove 'fingerprint', or set 'key' of @Idempotent.");
		}
		String problem = orderProblem(shape, mode, returnsResult);
		if (problem == null && (required || !mayMove(shape))) {
			String store = template.offsetProblem();
			if (store == null) {
				if (!expressions.hasKey()) {
					this.identities.markNeeded();
				}
				this.scope.compareOffsets(required);
				return MissingKeyPolicy.OFFSET;
			}
			if (!required) {
				logger.info("The idempotent listener " + shape.name()
						+ " uses the coordinates of a record without a key as its key, which needs one row for each "
						+ "record, because offsets cannot be compared. " + store);
			}
			problem = StringUtils.uncapitalize(store);
		}
		if (required) {
			throw shape.mistake(REFUSED + problem,
					"Identify the records by a key, or set 'onMissingKey' of @Idempotent to RECORD_COORDINATES.");
		}
		return MissingKeyPolicy.RECORD_COORDINATES;
	}

	private @Nullable String orderProblem(ListenerShape shape, Mode mode, boolean returnsResult) {
		if (this.function) {
			return "it is a function of Spring Cloud Stream";
		}
		if (shape.async() != null) {
			return "its method is asynchronous, so that a later record may complete first";
		}
		if (mode != Mode.TRANSACTIONAL) {
			return "it uses leased mode, and only a database transaction stores the offset together with the effect";
		}
		if (returnsResult) {
			return "its method returns a value, which is not stored for each record";
		}
		if (this.scope.isDeadLetter()) {
			return "its method handles dead letters, which may be sent again in another order";
		}
		if (!this.main) {
			return "it has a retry topic, whose records are processed after later ones";
		}
		if (this.container.getContainerProperties().isAsyncAcks()) {
			return "its container has 'asyncAcks', which acknowledges records in any order";
		}
		return null;
	}

	// The application may seek over records and come back to them. Offsets are then
	// compared only if it asks for that.
	private boolean mayMove(ListenerShape shape) {
		return ConsumerSeekAware.class.isAssignableFrom(shape.targetClass())
				|| this.container.getContainerProperties().getTopicPartitions() != null
				|| this.container.getContainerProperties().getConsumerRebalanceListener() != null
				|| Arrays.stream(shape.method().getParameterTypes()).anyMatch(Consumer.class::isAssignableFrom);
	}

}
