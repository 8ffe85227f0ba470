package dev.idempotency.actuate;

import java.util.UUID;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.Show;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;

import dev.idempotency.actuate.OutboxDescriptors.MessagesChanged;
import dev.idempotency.actuate.OutboxDescriptors.OutboxOverview;
import dev.idempotency.actuate.OutboxDescriptors.SetAsideList;
import dev.idempotency.outbox.OutboxAdmin;

/**
 * What people may see of the outbox of this application, and do to messages that the
 * broker has refused. Reading is allowed by default, writing with
 * {@code management.endpoint.idempotencyoutbox.access} set to {@code unrestricted}.
 *
 * @since 0.1.0
 */
@Endpoint(id = "idempotencyoutbox", defaultAccess = Access.READ_ONLY)
public final class OutboxEndpoint {

	private static final int LIMIT = 100;

	private static final int MAX_LIMIT = 1000;

	private final OutboxAdmin operator;

	private final Show showValues;

	/**
	 * Create an endpoint.
	 * @param operator what may be seen and done
	 * @param showValues when messages of errors are shown
	 */
	public OutboxEndpoint(OutboxAdmin operator, Show showValues) {
		this.operator = operator;
		this.showValues = showValues;
	}

	/**
	 * Count the messages.
	 * @return the counts
	 */
	@ReadOperation
	public OutboxOverview overview() {
		return OutboxOverview.of(this.operator.store());
	}

	/**
	 * Look at messages.
	 * @param view {@code set-aside}
	 * @param limit how many messages at most
	 * @return what is to be seen, {@code null} if there is no such view
	 */
	@ReadOperation
	public @Nullable SetAsideList view(@Selector String view, @Nullable Integer limit) {
		return view(view, limit, this.showValues.isShown(true));
	}

	@Nullable SetAsideList view(String view, @Nullable Integer limit, boolean values) {
		if (!view.equals("set-aside")) {
			return null;
		}
		return SetAsideList.of(this.operator.store().deadLetters(size(limit)), values);
	}

	/**
	 * Change messages that have been set aside: one, or those of a topic.
	 * @param action {@code retry} or {@code discard}
	 * @param id the identity of the message, or no {@code topic}
	 * @param topic the topic of the messages, or no {@code id}
	 * @param limit how many messages of the topic at most, those that were sent first
	 * @return the outcome, {@code null} if there is no such action
	 */
	@WriteOperation
	public @Nullable MessagesChanged change(@Selector String action, @Nullable String id, @Nullable String topic,
			@Nullable Integer limit) {
		return change(action, id, topic, limit, null);
	}

	@Nullable MessagesChanged change(String action, @Nullable String id, @Nullable String topic, @Nullable Integer limit,
			@Nullable String who) {
		if (!action.equals("retry") && !action.equals("discard")) {
			return null;
		}
		boolean retry = action.equals("retry");
		if (topic == null || topic.isEmpty()) {
			UUID one = uuid(id);
			return MessagesChanged.of(one, retry ? this.operator.retry(one, who) : this.operator.discard(one, who));
		}
		if (id != null) {
			throw new IllegalArgumentException("Both 'id' and 'topic' are given; name a message or a topic");
		}
		int size = size(limit);
		return MessagesChanged.of(topic,
				retry ? this.operator.retry(topic, size, who) : this.operator.discard(topic, size, who));
	}

	private static int size(@Nullable Integer limit) {
		int size = (limit != null) ? limit : LIMIT;
		if (size < 1 || size > MAX_LIMIT) {
			throw new IllegalArgumentException("'limit' is " + size + "; 1 to " + MAX_LIMIT + " messages are possible");
		}
		return size;
	}

	private static UUID uuid(@Nullable String id) {
		try {
			return UUID.fromString(String.valueOf(id));
		}
		catch (IllegalArgumentException ex) {
			throw new IllegalArgumentException("'id' is needed, a UUID as 'set-aside' shows it, or 'topic'", ex);
		}
	}

}
