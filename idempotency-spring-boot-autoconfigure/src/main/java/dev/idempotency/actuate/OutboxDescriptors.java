package dev.idempotency.actuate;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.UUID;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonInclude.Include;
import org.jspecify.annotations.Nullable;

import dev.idempotency.actuate.Descriptors.ErrorDescriptor;
import dev.idempotency.outbox.OutboxStore;
import dev.idempotency.outbox.OutboxStore.DeadLetter;
import dev.idempotency.outbox.OutboxStore.Status;
import dev.idempotency.store.IdempotencyRecords.Change;

/**
 * What the endpoint of the outbox answers.
 *
 * @since 0.1.0
 */
public final class OutboxDescriptors {

	private OutboxDescriptors() {
	}

	/**
	 * The outbox in numbers.
	 *
	 * @param table the name of the table
	 * @param pending messages that are to be published, see {@link Status}
	 * @param oldest the age of the oldest message that is pending or blocked, if there is
	 * one
	 * @param setAside messages that have been set aside, see {@link Status}
	 * @param blocked messages that wait for one that is set aside, see {@link Status}
	 */
	@JsonInclude(Include.NON_NULL)
	public record OutboxOverview(String table, long pending, @Nullable Duration oldest, long setAside, long blocked) {

		static OutboxOverview of(OutboxStore store) {
			Status status = store.status();
			boolean waiting = status.pending() + status.blocked() > 0;
			return new OutboxOverview(store.table(), status.pending(), waiting ? status.oldest() : null,
					status.deadLetters(), status.blocked());
		}

	}

	/**
	 * Messages that have been set aside, the latest first.
	 *
	 * @param messages the messages
	 */
	public record SetAsideList(List<SetAsideDescriptor> messages) {

		static SetAsideList of(List<DeadLetter> messages, boolean values) {
			return new SetAsideList(
					messages.stream().map((message) -> SetAsideDescriptor.of(message, values)).toList());
		}

	}

	/**
	 * A message that has been set aside.
	 *
	 * @param id its identity
	 * @param topic where it should go
	 * @param aggregateType what it is about
	 * @param aggregateId which one
	 * @param type what kind of event it is
	 * @param idempotencyKey its idempotency key
	 * @param createdAt when it was sent
	 * @param setAsideAt when it was given up
	 * @param attempts how often it was refused
	 * @param error the last refusal
	 */
	public record SetAsideDescriptor(UUID id, String topic, String aggregateType, String aggregateId, String type,
			String idempotencyKey, Instant createdAt, Instant setAsideAt, int attempts, ErrorDescriptor error) {

		static SetAsideDescriptor of(DeadLetter message, boolean values) {
			return new SetAsideDescriptor(message.id(), message.topic(), message.aggregateType(), message.aggregateId(),
					message.type(), message.idempotencyKey(), message.createdAt(), message.deadSince(),
					message.attempts(),
					new ErrorDescriptor(message.failure().type(), values ? message.failure().message() : null));
		}

	}

	/**
	 * The outcome of a change.
	 *
	 * @param id the identity of the message, if one was named
	 * @param topic the topic of the messages, if one was named
	 * @param messages how many messages of the topic were changed
	 * @param outcome the outcome
	 */
	@JsonInclude(Include.NON_NULL)
	public record MessagesChanged(@Nullable UUID id, @Nullable String topic, @Nullable Integer messages,
			Change outcome) {

		static MessagesChanged of(UUID id, boolean done) {
			return new MessagesChanged(id, null, null, done ? Change.DONE : Change.ABSENT);
		}

		static MessagesChanged of(String topic, int messages) {
			return new MessagesChanged(null, topic, messages, (messages > 0) ? Change.DONE : Change.ABSENT);
		}

	}

}
