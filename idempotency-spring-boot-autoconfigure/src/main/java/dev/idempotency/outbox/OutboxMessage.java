package dev.idempotency.outbox;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

import org.jspecify.annotations.Nullable;
import org.springframework.util.Assert;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotentExecution;

/**
 * A message to be sent with an {@link Outbox}.
 *
 * @since 0.1.0
 */
public final class OutboxMessage {

	private static final int MAX_TOPIC = 249;

	private static final int MAX_NAME = 255;

	private final String topic;

	private final @Nullable Object key;

	private final @Nullable Object payload;

	private final List<OutboxHeader> headers;

	private final String aggregateType;

	private final @Nullable String aggregateId;

	private final String type;

	private final @Nullable String idempotencyKey;

	private final @Nullable IdempotentExecution cause;

	private OutboxMessage(Builder builder) {
		this.topic = builder.topic;
		this.key = builder.key;
		this.payload = builder.payload;
		this.headers = List.copyOf(builder.headers);
		this.aggregateType = (builder.aggregateType != null) ? builder.aggregateType : builder.topic;
		this.aggregateId = builder.aggregateId;
		this.type = (builder.type != null) ? builder.type : type(builder.payload);
		this.idempotencyKey = builder.idempotencyKey;
		this.cause = builder.cause;
	}

	private static String type(@Nullable Object payload) {
		return (payload != null) ? payload.getClass().getSimpleName() : "Tombstone";
	}

	/**
	 * Begin a message.
	 * @param topic where it goes
	 * @return a builder
	 */
	public static Builder to(String topic) {
		return new Builder(topic);
	}

	public String topic() {
		return this.topic;
	}

	public @Nullable Object key() {
		return this.key;
	}

	public @Nullable Object payload() {
		return this.payload;
	}

	public List<OutboxHeader> headers() {
		return this.headers;
	}

	/**
	 * Whether the sender has given the message a header.
	 * @param name the name of the header
	 * @return whether it is there, with or without a value
	 */
	public boolean hasHeader(String name) {
		return this.headers.stream().anyMatch((header) -> header.name().equals(name));
	}

	public String aggregateType() {
		return this.aggregateType;
	}

	public @Nullable String aggregateId() {
		return this.aggregateId;
	}

	public String type() {
		return this.type;
	}

	/**
	 * The idempotency key that the sender has given the message.
	 * @return the key; {@code null} if it gets one when it is sent
	 */
	public @Nullable String idempotencyKey() {
		return this.idempotencyKey;
	}

	/**
	 * The execution that the sender has named.
	 * @return the execution; {@code null} if that is the current one, or none
	 */
	public @Nullable IdempotentExecution cause() {
		return this.cause;
	}

	// Never the payload.
	@Override
	public String toString() {
		return "message to " + this.topic + ((this.key != null) ? " with key " + this.key : "");
	}

	/**
	 * Makes a message.
	 */
	public static final class Builder {

		private final String topic;

		private final List<OutboxHeader> headers = new ArrayList<>();

		private @Nullable Object key;

		private @Nullable Object payload;

		private @Nullable String aggregateType;

		private @Nullable String aggregateId;

		private @Nullable String type;

		private @Nullable String idempotencyKey;

		private @Nullable IdempotentExecution cause;

		private Builder(String topic) {
			this.topic = checked("topic", topic, MAX_TOPIC);
		}

		/**
		 * The message key: messages with the same one keep their order.
		 * @param value the key, as the application's {@code KafkaTemplate} takes it
		 * @return this
		 */
		public Builder key(@Nullable Object value) {
			this.key = value;
			return this;
		}

		/**
		 * The payload.
		 * @param value the payload, as the application's {@code KafkaTemplate} takes it
		 * @return this
		 */
		public Builder payload(@Nullable Object value) {
			this.payload = value;
			return this;
		}

		/**
		 * Add a header.
		 * @param name its name; not that of the idempotency key or of the identity, which
		 * every message has
		 * @param value its value
		 * @return this
		 */
		public Builder header(String name, byte @Nullable [] value) {
			Assert.isTrue(!name.equals(OutboxRow.KEY_HEADER), () -> "The message to " + this.topic
					+ " cannot have a header '" + name + "' of its own; give the key with idempotencyKey(…)");
			Assert.isTrue(!name.equals(OutboxRow.ID_HEADER),
					() -> "The message to " + this.topic + " cannot have a header '" + name
							+ "' of its own: the relay sends the identity of the row in it, as Debezium does; choose "
							+ "another name");
			this.headers.add(new OutboxHeader(name, value));
			return this;
		}

		/**
		 * Add a header with a text, in UTF-8.
		 * @param name its name
		 * @param value its value
		 * @return this
		 */
		public Builder header(String name, String value) {
			return header(name, value.getBytes(StandardCharsets.UTF_8));
		}

		/**
		 * What the message is about. Without it: the topic, and the message key.
		 * @param aggregate the type, as "payment"; 255 characters at most
		 * @param id which one; 255 characters at most
		 * @return this
		 */
		public Builder aggregate(String aggregate, String id) {
			this.aggregateType = checked("aggregate type", aggregate, MAX_NAME);
			this.aggregateId = checked("aggregate id", id, MAX_NAME);
			return this;
		}

		/**
		 * The type of the event. Without it: the simple class name of the payload. The
		 * key of the message depends on it, if the outbox derives that.
		 * @param name the type, as "payment-charged"; 255 characters at most
		 * @return this
		 */
		public Builder type(String name) {
			this.type = checked("type", name, MAX_NAME);
			return this;
		}

		/**
		 * The idempotency key of the message, for its consumers. Without it:
		 * {@link IdempotentExecution#nextTransactionalKey} of the cause, or a new one.
		 * @param value the key
		 * @return this
		 */
		public Builder idempotencyKey(String value) {
			String problem = IdempotencyKey.problem(value);
			Assert.isTrue(problem == null, () -> "The idempotency key of the message to " + this.topic + " " + problem);
			this.idempotencyKey = value;
			return this;
		}

		/**
		 * The execution that sends the message. Without it: the current one, which the
		 * handler of a batch does not have.
		 * @param execution the execution, as in
		 * {@link IdempotentExecution#currentBatch()}; {@code null}, as for a record
		 * without protection, is as without it
		 * @return this
		 */
		public Builder cause(@Nullable IdempotentExecution execution) {
			this.cause = execution;
			return this;
		}

		public OutboxMessage build() {
			return new OutboxMessage(this);
		}

		private static String checked(String what, String text, int length) {
			String problem = IdempotencyKey.problem(text);
			Assert.isTrue(problem == null, () -> "The " + what + " of a message " + problem);
			Assert.isTrue(text.length() <= length,
					() -> "The " + what + " of a message has " + text.length() + " characters, more than " + length);
			return text;
		}

	}

}
