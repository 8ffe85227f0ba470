package dev.idempotency.listener;

import java.lang.reflect.Field;
import java.util.AbstractSet;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.util.Assert;
import org.springframework.util.ReflectionUtils;

/**
 * The pause requests of one consumer. Spring Kafka keeps them in a set, so that a request
 * of the application and one for a blocked record are the same, and the end of one ends
 * the other. This set takes the place of that set: what the container adds and removes
 * are the requests of the application, and blocked partitions are kept beside them. A
 * partition is paused while either asks for it.
 * <p>
 * The set of the container is a private field. Where it cannot be replaced, a pause that
 * the application requests while a record is blocked ends with the block, and a warning
 * says so.
 */
final class PauseRequests extends AbstractSet<TopicPartition> {

	private static final String FIELD = "pauseRequestedPartitions";

	private static final Log logger = LogFactory.getLog(PauseRequests.class);

	private static final @Nullable Field SET = field();

	// Of the application. A thread that still sees this set in the container changes
	// the same requests.
	private final Set<TopicPartition> requested;

	private final Set<TopicPartition> blocked = ConcurrentHashMap.newKeySet();

	private PauseRequests(Set<TopicPartition> requested) {
		this.requested = requested;
	}

	/**
	 * The requests of a consumer.
	 * @param consumer the container of the consumer, not that of several
	 * @return its requests, {@code null} if they cannot be told apart
	 */
	static @Nullable PauseRequests of(MessageListenerContainer consumer) {
		if (SET == null || !(consumer instanceof AbstractMessageListenerContainer<?, ?>)) {
			return null;
		}
		synchronized (consumer) {
			return (ReflectionUtils.getField(SET, consumer) instanceof PauseRequests known) ? known
					: install(SET, consumer);
		}
	}

	@SuppressWarnings("unchecked")
	private static @Nullable PauseRequests install(Field field, MessageListenerContainer consumer) {
		Set<TopicPartition> requested = (Set<TopicPartition>) ReflectionUtils.getField(field, consumer);
		Assert.state(requested != null, "A container has a set of pause requests");
		PauseRequests requests = new PauseRequests(requested);
		try {
			field.set(consumer, requests);
			return requests;
		}
		catch (IllegalAccessException ex) {
			warn(ex);
			return null;
		}
	}

	private static @Nullable Field field() {
		try {
			Field field = AbstractMessageListenerContainer.class.getDeclaredField(FIELD);
			field.setAccessible(true);
			return Set.class.isAssignableFrom(field.getType()) ? field : null;
		}
		catch (NoSuchFieldException | RuntimeException ex) {
			warn(ex);
			return null;
		}
	}

	private static void warn(Exception reason) {
		logger.warn("The pause requests of Spring Kafka's containers cannot be told apart from pauses for blocked "
				+ "records, so a partition that the application pauses while a record of it is blocked is resumed when "
				+ "that ends. Pause the whole container instead", reason);
	}

	/**
	 * Request a pause for a blocked record.
	 * @param partition its partition
	 * @return whether there was no such request
	 */
	boolean block(TopicPartition partition) {
		return this.blocked.add(partition);
	}

	void unblock(TopicPartition partition) {
		this.blocked.remove(partition);
	}

	@Override
	public boolean add(TopicPartition partition) {
		return this.requested.add(partition);
	}

	@Override
	public boolean remove(Object partition) {
		return this.requested.remove(partition);
	}

	@Override
	public boolean contains(Object partition) {
		return this.requested.contains(partition) || this.blocked.contains(partition);
	}

	@Override
	public Iterator<TopicPartition> iterator() {
		return all().iterator();
	}

	@Override
	public int size() {
		return all().size();
	}

	private Set<TopicPartition> all() {
		Set<TopicPartition> all = new HashSet<>(this.requested);
		all.addAll(this.blocked);
		return all;
	}

}
