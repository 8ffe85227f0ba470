package dev.idempotency.listener.error;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;
import org.springframework.kafka.listener.BatchInterceptor;
import org.springframework.kafka.listener.CompositeBatchInterceptor;
import org.springframework.kafka.listener.CompositeRecordInterceptor;
import org.springframework.kafka.listener.RecordInterceptor;

/**
 * Intercepts the polls of a container, before and after the interceptors of the
 * application. A container calls {@code setupThreadState} directly before it polls, when
 * it has paused and resumed partitions itself, and {@code clearThreadState} before it
 * does so the next time.
 */
final class PollInterceptors {

	private PollInterceptors() {
	}

	// The kind of the container's listener may not be known yet.
	static <K, V> void install(AbstractMessageListenerContainer<K, V> container, PartitionPauses pauses) {
		RecordInterceptor<K, V> records = container.getRecordInterceptor();
		if (!(records instanceof RecordPolls)) {
			container.setRecordInterceptor(new RecordPolls<>(records, pauses));
		}
		BatchInterceptor<K, V> batches = container.getBatchInterceptor();
		if (!(batches instanceof BatchPolls)) {
			container.setBatchInterceptor(new BatchPolls<>(batches, pauses));
		}
	}

	private static final class RecordPolls<K, V> extends CompositeRecordInterceptor<K, V> {

		RecordPolls(@Nullable RecordInterceptor<K, V> application, PartitionPauses pauses) {
			addRecordInterceptor(new Polls<>(pauses));
			if (application != null) {
				addRecordInterceptor(application);
			}
		}

	}

	private static final class BatchPolls<K, V> extends CompositeBatchInterceptor<K, V> {

		BatchPolls(@Nullable BatchInterceptor<K, V> application, PartitionPauses pauses) {
			addBatchInterceptor(new Polls<>(pauses));
			if (application != null) {
				addBatchInterceptor(application);
			}
		}

	}

	private record Polls<K, V>(PartitionPauses pauses) implements RecordInterceptor<K, V>, BatchInterceptor<K, V> {

		@Override
		public void setupThreadState(Consumer<?, ?> consumer) {
			this.pauses.beforePoll(consumer);
		}

		@Override
		public void clearThreadState(Consumer<?, ?> consumer) {
			this.pauses.afterPoll(consumer);
		}

		@Override
		public ConsumerRecord<K, V> intercept(ConsumerRecord<K, V> record, Consumer<K, V> consumer) {
			return record;
		}

		@Override
		public ConsumerRecords<K, V> intercept(ConsumerRecords<K, V> records, Consumer<K, V> consumer) {
			return records;
		}

	}

}
