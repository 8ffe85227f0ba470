/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.actuate;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.UUID;

import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.annotation.RegisterReflectionForBinding;
import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.OperationResponseBody;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.Show;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.annotation.WebEndpoint;
import org.springframework.util.Assert;

import dev.idempotency.actuate.IdempotencyEndpoint.ErrorDescriptor;
import dev.idempotency.actuate.OutboxEndpoint.DeadLetterList;
import dev.idempotency.actuate.OutboxEndpoint.MessagesChanged;
import dev.idempotency.actuate.OutboxEndpoint.OutboxOverview;
import dev.idempotency.actuate.WebResponses.ChangeDescriptor;
import dev.idempotency.outbox.OutboxAdmin;
import dev.idempotency.outbox.OutboxStore.DeadLetter;
import dev.idempotency.outbox.OutboxStore.Status;
import dev.idempotency.store.IdempotencyRecords.Change;

/**
 * {@link WebEndpoint @WebEndpoint} that shows the outbox of the application and retries
 * or discards its dead letters: messages that the broker has refused. Read operations are
 * allowed by default, write operations only with
 * {@code management.endpoint.idempotencyoutbox.access} set to {@code unrestricted}.
 *
 * @param admin the administration of the outbox
 * @param showValues when to show error messages
 * @param roles the roles that may see them when authorized, empty for every authenticated
 * user
 * @since 0.1.0
 */
@WebEndpoint(id = OutboxEndpoint.ID, defaultAccess = Access.READ_ONLY)
@RegisterReflectionForBinding({ OutboxOverview.class, DeadLetterList.class, MessagesChanged.class,
		WebResponses.Problem.class })
public record OutboxEndpoint(OutboxAdmin admin, Show showValues, Set<String> roles) {

	static final String ID = "idempotencyoutbox";

	private static final int LIMIT = 100;

	private static final int MAX_LIMIT = 1000;

	/**
	 * Count the messages.
	 * @return the counts
	 */
	@ReadOperation
	public OutboxOverview overview() {
		Status status = this.admin.store().status();
		boolean waiting = status.pending() + status.blocked() > 0;
		return new OutboxOverview(this.admin.store().table(), status.pending(), waiting ? status.oldest() : null,
				status.deadLetters(), status.blocked());
	}

	/**
	 * List dead letters.
	 * @param view {@code dead-letters}
	 * @param limit the largest number of messages, 1 to 1000, 100 by default
	 * @param context the user
	 * @return the list, {@code null} if there is no such view
	 */
	@ReadOperation
	public @Nullable DeadLetterList view(@Selector String view, @Nullable Integer limit, SecurityContext context) {
		if (!view.equals("dead-letters")) {
			return null;
		}
		boolean values = this.showValues.isShown(context, this.roles);
		return new DeadLetterList(this.admin.store()
			.deadLetters(WebResponses.limit(limit, LIMIT, 1, MAX_LIMIT))
			.stream()
			.map((message) -> DeadLetterDescriptor.of(message, values))
			.toList());
	}

	/**
	 * Retry or discard dead letters: one, or those of a topic.
	 * @param action {@code retry} or {@code discard}
	 * @param id the identity of the message; required without {@code topic}
	 * @param topic the topic of the messages; required without {@code id}
	 * @param limit the largest number of messages of the topic, 1 to 1000, 100 by
	 * default; those that were sent first are changed first
	 * @param context the user
	 * @return the outcome, {@code null} if there is no such action
	 */
	@WriteOperation
	public @Nullable MessagesChanged change(@Selector String action, @Nullable String id, @Nullable String topic,
			@Nullable Integer limit, SecurityContext context) {
		boolean retry = action.equals("retry");
		if (!retry && !action.equals("discard")) {
			return null;
		}
		String requestedBy = WebResponses.user(context);
		if (topic == null || topic.isEmpty()) {
			UUID one = uuid(id);
			boolean done = retry ? this.admin.retry(one, requestedBy) : this.admin.discard(one, requestedBy);
			return new MessagesChanged(one, null, null, done ? Change.DONE : Change.ABSENT);
		}
		Assert.isNull(id, "Both 'id' and 'topic' are given. Name a message or a topic");
		int size = WebResponses.limit(limit, LIMIT, 1, MAX_LIMIT);
		int changed = retry ? this.admin.retry(topic, size, requestedBy) : this.admin.discard(topic, size, requestedBy);
		return new MessagesChanged(null, topic, changed, (changed > 0) ? Change.DONE : Change.ABSENT);
	}

	private static UUID uuid(@Nullable String id) {
		try {
			return UUID.fromString(String.valueOf(id));
		}
		catch (IllegalArgumentException ex) {
			throw new IllegalArgumentException(
					"'id' is missing or not a UUID. Copy it from the view 'dead-letters', or name a 'topic'", ex);
		}
	}

	/**
	 * Description of the outbox in numbers.
	 *
	 * @param table the name of the table
	 * @param pending the number of messages that are to be published, see {@link Status}
	 * @param oldest the age of the oldest message that is pending or blocked, if there is
	 * one
	 * @param deadLetters the number of dead letters, see {@link Status}
	 * @param blocked the number of messages behind a dead letter with the same ordering
	 * key, see {@link Status}
	 */
	public record OutboxOverview(String table, long pending, @Nullable Duration oldest, long deadLetters,
			long blocked) implements OperationResponseBody {

	}

	/**
	 * Description of dead letters, the latest first.
	 *
	 * @param messages the messages
	 */
	public record DeadLetterList(List<DeadLetterDescriptor> messages) implements OperationResponseBody {

	}

	/**
	 * Description of a dead letter.
	 *
	 * @param id its identity
	 * @param topic its topic
	 * @param aggregateType the type of the aggregate that it concerns
	 * @param aggregateId the identity of that aggregate
	 * @param type the type of the event
	 * @param idempotencyKey its idempotency key
	 * @param createdAt the time at which the application sent it
	 * @param deadLetterAt the time at which the relay gave it up
	 * @param attempts the number of refusals by the broker
	 * @param error the error of the last refusal
	 */
	public record DeadLetterDescriptor(UUID id, String topic, String aggregateType, String aggregateId, String type,
			String idempotencyKey, Instant createdAt, Instant deadLetterAt, int attempts, ErrorDescriptor error) {

		static DeadLetterDescriptor of(DeadLetter message, boolean values) {
			return new DeadLetterDescriptor(message.id(), message.topic(), message.aggregateType(),
					message.aggregateId(), message.type(), message.idempotencyKey(), message.createdAt(),
					message.deadSince(), message.attempts(), ErrorDescriptor.of(message.failure(), values));
		}

	}

	/**
	 * Description of the outcome of a change.
	 *
	 * @param id the identity of the message, if one was named
	 * @param topic the topic of the messages, if one was named
	 * @param messages the number of messages of the topic that were changed
	 * @param outcome the outcome
	 */
	public record MessagesChanged(@Nullable UUID id, @Nullable String topic, @Nullable Integer messages,
			Change outcome) implements ChangeDescriptor {

	}

}
