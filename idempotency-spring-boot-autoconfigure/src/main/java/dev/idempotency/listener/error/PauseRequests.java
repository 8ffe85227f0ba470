package dev.idempotency.listener.error;

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
 * The pause requests of one consumer. Spring Kafka keeps all requests in one set, in
 * which a request of the application and one for a blocked record cannot be told apart:
 * the end of one would end the other. This set replaces that set. The container adds and
 * removes the requests of the application; blocked partitions are kept separately. A
 * partition is paused while it is in one of the two sets.
 * <p>
 * The set is a private field of the container. If it cannot be replaced, a pause that the
 * application requests for a blocked partition ends when the partition is resumed, and a
 * warning is logged.
 */
final class PauseRequests extends AbstractSet<TopicPartition> {

	private static final String FIELD = "pauseRequestedPartitions";

	private static final Log logger = LogFactory.getLog(PauseRequests.class);

	private static final @Nullable Field SET = field();

	// The requests of the application. A thread that still sees the original set in the
	// container changes the same requests.
	private final Set<TopicPartition> requested;

	private final Set<TopicPartition> blocked = ConcurrentHashMap.newKeySet();

	private PauseRequests(Set<TopicPartition> requested) {
		this.requested = requested;
	}

	/**
	 * Return the requests of a consumer, and replace the container's set at the first
	 * call.
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
		Assert.state(requested != null, "A container must have a set of pause requests");
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
		logger.warn("The pause requests of Spring Kafka's containers cannot be separated from pauses for blocked "
				+ "records. If the application pauses a partition while a record of it is blocked, the partition is "
				+ "resumed when the record is redelivered. Pause the whole container instead", reason);
	}

	/**
	 * Request a pause for a blocked record.
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
