package dev.idempotency.listener;

import java.util.Collection;
import java.util.List;

import org.apache.commons.logging.LogFactory;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.springframework.core.log.LogAccessor;
import org.springframework.kafka.KafkaException.Level;
import org.springframework.kafka.listener.CommonErrorHandler;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.listener.SeekUtils;
import org.springframework.kafka.support.TopicPartitionOffset;

import dev.idempotency.OperationBlockedException;

/**
 * Around the container's own error handler: a blocked record is neither retried by it nor
 * recovered, but waits, without limit, in its paused partition. Everything else is the
 * delegate's, with its back-off, attempts and recoverer.
 */
final class BlockedAwareErrorHandler implements CommonErrorHandler {

	private static final LogAccessor logger = new LogAccessor(LogFactory.getLog(BlockedAwareErrorHandler.class));

	// What the listener of this thread has thrown last, if the record was blocked.
	private static final ThreadLocal<@Nullable RuntimeException> BLOCKED = new ThreadLocal<>();

	private final CommonErrorHandler delegate;

	private final PartitionPauses pauses;

	private final HeldBackRecords heldBack;

	private final java.util.function.Consumer<ConsumerRecord<?, ?>> failed;

	/**
	 * Create a handler.
	 * @param delegate the container's own
	 * @param pauses pauses partitions
	 * @param failed gets each record that the delegate may publish
	 */
	BlockedAwareErrorHandler(CommonErrorHandler delegate, PartitionPauses pauses,
			java.util.function.Consumer<ConsumerRecord<?, ?>> failed) {
		this.failed = failed;
		this.delegate = delegate;
		this.pauses = pauses;
		this.heldBack = new HeldBackRecords(pauses);
	}

	/**
	 * The container is about to ask whether the error handler seeks.
	 * @param exception what the listener throws, {@code null} if it is called
	 */
	static void blocked(@Nullable RuntimeException exception) {
		if (exception != null || BLOCKED.get() != null) {
			BLOCKED.set(exception);
		}
	}

	@Override
	public boolean handleOne(Exception thrownException, ConsumerRecord<?, ?> record, Consumer<?, ?> consumer,
			MessageListenerContainer container) {
		OperationBlockedException blocked = Blocked.in(thrownException);
		if (blocked == null) {
			this.failed.accept(record);
			return this.delegate.handleOne(thrownException, record, consumer, container);
		}
		this.pauses.pause(container, record, blocked);
		return false;
	}

	@Override
	public void handleRemaining(Exception thrownException, List<ConsumerRecord<?, ?>> records, Consumer<?, ?> consumer,
			MessageListenerContainer container) {
		blocked(null);
		OperationBlockedException blocked = Blocked.in(thrownException);
		if (blocked == null) {
			records.stream().limit(1).forEach(this.failed);
			this.delegate.handleRemaining(thrownException, records, consumer, container);
			return;
		}
		// Seeks, and throws the exception by which the container knows a record in retry.
		SeekUtils.seekOrRecover(thrownException, records, consumer, container, false, (record, ex) -> {
			this.pauses.pause(container, record, blocked);
			return false;
		}, logger, Level.DEBUG);
	}

	@Override
	public void handleBatch(Exception thrownException, ConsumerRecords<?, ?> data, Consumer<?, ?> consumer,
			MessageListenerContainer container, Runnable invokeListener) {
		holdBack(thrownException, data, consumer, container);
		data.forEach(this.failed);
		try {
			this.delegate.handleBatch(thrownException, data, consumer, container, guarded(invokeListener));
		}
		catch (Tunnel ex) {
			holdBack(ex.error, data, consumer, container);
		}
	}

	// Also for a handler that does not seek: the container accepts it if we do.
	@Override
	public <K, V> ConsumerRecords<K, V> handleBatchAndReturnRemaining(Exception thrownException,
			ConsumerRecords<?, ?> data, Consumer<?, ?> consumer, MessageListenerContainer container,
			Runnable invokeListener) {
		holdBack(thrownException, data, consumer, container);
		data.forEach(this.failed);
		try {
			return this.delegate.handleBatchAndReturnRemaining(thrownException, data, consumer, container,
					guarded(invokeListener));
		}
		catch (Tunnel ex) {
			holdBack(ex.error, data, consumer, container);
			throw ex;
		}
	}

	private void holdBack(Exception error, ConsumerRecords<?, ?> data, Consumer<?, ?> consumer,
			MessageListenerContainer container) {
		HeldBackException held = HeldBackException.in(error);
		if (held != null) {
			this.heldBack.handle(error, held, data, consumer, container);
		}
	}

	private static Runnable guarded(Runnable invokeListener) {
		return () -> {
			try {
				invokeListener.run();
			}
			catch (RuntimeException ex) {
				if (HeldBackException.in(ex) != null) {
					throw new Tunnel(ex);
				}
				throw ex;
			}
		};
	}

	@Override
	public void handleOtherException(Exception thrownException, Consumer<?, ?> consumer,
			MessageListenerContainer container, boolean batchListener) {
		this.delegate.handleOtherException(thrownException, consumer, container, batchListener);
	}

	// The container keeps the records that are left for a handler that does not seek: it
	// pauses all partitions, and forgets which earlier records are in flight, so that a
	// commit of the blocked record would pass them.
	@Override
	public boolean seeksAfterHandling() {
		return BLOCKED.get() != null || this.delegate.seeksAfterHandling();
	}

	@Override
	public boolean deliveryAttemptHeader() {
		return this.delegate.deliveryAttemptHeader();
	}

	@Override
	public int deliveryAttempt(TopicPartitionOffset topicPartitionOffset) {
		return this.delegate.deliveryAttempt(topicPartitionOffset);
	}

	@Override
	public void clearThreadState() {
		this.delegate.clearThreadState();
	}

	@Override
	public boolean isAckAfterHandle() {
		return this.delegate.isAckAfterHandle();
	}

	@Override
	public void setAckAfterHandle(boolean ack) {
		this.delegate.setAckAfterHandle(ack);
	}

	@Override
	public void onPartitionsAssigned(Consumer<?, ?> consumer, Collection<TopicPartition> partitions,
			Runnable publishPause) {
		this.delegate.onPartitionsAssigned(consumer, partitions, publishPause);
	}

	/**
	 * Leaves the loop in which a handler calls the listener again, and which would count
	 * any exception as one more failure.
	 */
	@SuppressWarnings("serial")
	private static final class Tunnel extends Error {

		private final RuntimeException error;

		Tunnel(RuntimeException error) {
			super(error.getMessage(), error, false, false);
			this.error = error;
		}

	}

}
