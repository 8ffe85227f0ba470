package dev.idempotency.listener;

import java.lang.reflect.Method;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.listener.ConsumerSeekAware.ConsumerSeekCallback;
import org.springframework.kafka.listener.DelegatingMessageListener;
import org.springframework.kafka.listener.adapter.RecordMessagingMessageListenerAdapter;
import org.springframework.util.ReflectionUtils;

import dev.idempotency.listener.error.BlockedRecordHandling;

/**
 * The retries of failed asynchronous results in one container. It works around two
 * defects of Spring Kafka 4.1.1:
 * <ol>
 * <li>The consumers of a container share one listener adapter, which hands all failures
 * to the consumer that was created last. That consumer cannot seek in the partitions of
 * the others, so their failed records were neither retried nor recovered. Each failure is
 * handed to the consumer that has delivered the record.
 * <li>A consumer skips the records behind a failed one until it is recovered or the
 * partition is revoked, also after a retry that has succeeded. A retry that succeeds is
 * therefore reported as a recovered failure, so that the consumer seeks to the next
 * record.
 * </ol>
 */
final class AsyncRetries {

	private static final Log logger = LogFactory.getLog(AsyncRetries.class);

	private static final String CALLBACK = "callbackForAsyncFailure";

	private final AtomicBoolean warned = new AtomicBoolean();

	// Directs failures to this object.
	private volatile @Nullable Runnable route;

	// The consumer of this thread.
	private final ThreadLocal<@Nullable FailureCallback> consumer = new ThreadLocal<>();

	// The consumer that has delivered the latest record of a partition.
	private final Map<TopicPartition, FailureCallback> consumers = new ConcurrentHashMap<>();

	// The offset of the record that is retried.
	private final Map<TopicPartition, Long> retried = new ConcurrentHashMap<>();

	/**
	 * Register a consumer on its thread.
	 * @param listener the listener of the container
	 * @param callback the consumer
	 */
	void register(Object listener, ConsumerSeekCallback callback) {
		RecordMessagingMessageListenerAdapter<?, ?> adapter = adapter(listener);
		if (adapter == null || !adapter.isAsyncReplies()) {
			return;
		}
		Method method = ReflectionUtils.findMethod(callback.getClass(), CALLBACK, ConsumerRecord.class,
				RuntimeException.class);
		if (method == null) {
			if (!this.warned.compareAndSet(false, true)) {
				return;
			}
			logger.warn("Failures of asynchronous idempotent listeners are retried as this version of Spring Kafka "
					+ "does it, because its containers have no method " + CALLBACK
					+ ". Verify that they are retried with a concurrency of 2 or more");
			return;
		}
		ReflectionUtils.makeAccessible(method);
		this.consumer.set(new FailureCallback(callback, method));
		this.route = () -> route(adapter);
		route(adapter);
	}

	private <K, V> void route(RecordMessagingMessageListenerAdapter<K, V> adapter) {
		adapter.setCallbackForAsyncFailure(this::failed);
	}

	/**
	 * Note that a result is about to fail. A consumer that is being created may just have
	 * directed all failures to itself.
	 */
	void failing() {
		Runnable current = this.route;
		if (current != null) {
			current.run();
		}
	}

	private static @Nullable RecordMessagingMessageListenerAdapter<?, ?> adapter(Object listener) {
		Object target = listener;
		while (target instanceof DelegatingMessageListener<?> delegating) {
			target = delegating.getDelegate();
		}
		return (target instanceof RecordMessagingMessageListenerAdapter<?, ?> adapter) ? adapter : null;
	}

	void unregister() {
		FailureCallback stopped = this.consumer.get();
		if (stopped != null) {
			this.consumer.remove();
			this.consumers.values().remove(stopped);
		}
	}

	/**
	 * Note that the consumer of this thread delivers a record.
	 * @param record the record
	 */
	void delivering(ConsumerRecord<?, ?> record) {
		FailureCallback current = this.consumer.get();
		if (current != null) {
			this.consumers.put(partition(record), current);
		}
	}

	private void failed(ConsumerRecord<?, ?> record, RuntimeException exception) {
		FailureCallback owner = this.consumers.get(partition(record));
		if (owner != null) {
			owner.accept(record, exception);
		}
		else {
			logger.debug("The consumer of a failed record has stopped, so the record is not retried by it: "
					+ partition(record) + "@" + record.offset(), exception);
		}
	}

	/**
	 * Note that the error handler expects a record to be redelivered.
	 * @param record the record
	 */
	void redelivered(ConsumerRecord<?, ?> record) {
		TopicPartition partition = partition(record);
		if (this.consumers.containsKey(partition)) {
			this.retried.put(partition, record.offset());
		}
	}

	/**
	 * Note that the asynchronous result of a record has arrived.
	 * @param record the record
	 */
	void succeeded(ConsumerRecord<?, ?> record) {
		if (!this.retried.isEmpty() && this.retried.remove(partition(record), record.offset())) {
			failed(record, BlockedRecordHandling.retrySucceeded());
		}
	}

	private static TopicPartition partition(ConsumerRecord<?, ?> record) {
		return new TopicPartition(record.topic(), record.partition());
	}

	/**
	 * The method of a consumer that accepts failures from other threads.
	 *
	 * @param consumer the consumer
	 * @param method the method
	 */
	private record FailureCallback(Object consumer, Method method) {

		void accept(ConsumerRecord<?, ?> record, RuntimeException exception) {
			ReflectionUtils.invokeMethod(this.method, this.consumer, record, exception);
		}

	}

}
