package dev.idempotency.listener.parked;

import java.time.Duration;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;
import org.springframework.kafka.listener.CommonErrorHandler;
import org.springframework.kafka.listener.ListenerExecutionFailedException;
import org.springframework.kafka.listener.RecordInterceptor;
import org.springframework.kafka.support.KafkaHeaders;
import org.springframework.kafka.support.KafkaUtils;

import dev.idempotency.OperationBlockedException;
import dev.idempotency.listener.error.BlockedRecordHandling;
import dev.idempotency.listener.parked.Deserialization.Deserialized;
import dev.idempotency.store.ParkedRecord;
import dev.idempotency.store.ParkedRecords;
import dev.idempotency.template.IdempotencyListener.ParkedOutcome;

/**
 * Processes single parked records as the container processes delivered ones: through its
 * record interceptor, its listener and its error handler. Not thread-safe.
 */
final class ParkedRun {

	private static final Log logger = LogFactory.getLog(ParkedRun.class);

	private static final Duration MIN = Duration.ofSeconds(1);

	private static final Duration MAX = Duration.ofSeconds(5);

	private final ParkedRecords store;

	private final Supplier<Deserialization> deserialization;

	private final AbstractMessageListenerContainer<?, ?> container;

	private final Consumer<ConsumerRecord<?, ?>> delivery;

	private final ByteConsumers consumers;

	// The consumer of the container belongs to another thread.
	private org.apache.kafka.clients.consumer.@Nullable Consumer<?, ?> consumer;

	private @Nullable CommonErrorHandler errorHandler;

	ParkedRun(ParkedRecords store, Supplier<Deserialization> deserialization,
			AbstractMessageListenerContainer<?, ?> container, Consumer<ConsumerRecord<?, ?>> delivery,
			ByteConsumers consumers) {
		this.store = store;
		this.deserialization = deserialization;
		this.container = container;
		this.delivery = delivery;
		this.consumers = consumers;
	}

	/**
	 * Process a record.
	 */
	Result run(ParkedEntry entry, BooleanSupplier active) {
		Optional<ParkedRecord> parked = this.store.find(entry.id());
		if (parked.isEmpty()) {
			return Result.done(ParkedOutcome.REMOVED);
		}
		Deserialized deserialized = this.deserialization.get().deserialize(parked.get());
		ConsumerRecord<?, ?> record = deserialized.record();
		RuntimeException failure = deserialized.failure();
		if (failure == null) {
			failure = deliver(record);
		}
		if (failure == null) {
			return Result.done(ParkedOutcome.PROCESSED);
		}
		OperationBlockedException blocked = OperationBlockedException.in(failure);
		if (blocked != null) {
			this.store.countAttempt(entry.id());
			return Result.later(clamp(blocked.retryAfter()));
		}
		// The next owner of the partition processes the record, and its error handler
		// counts the attempts.
		if (!active.getAsBoolean()) {
			return Result.later(MAX);
		}
		return handle(failure, record) ? Result.done(ParkedOutcome.RECOVERED) : Result.failed(entry, this.store);
	}

	private static Duration clamp(Duration retryAfter) {
		return (retryAfter.compareTo(MIN) < 0) ? MIN : (retryAfter.compareTo(MAX) > 0) ? MAX : retryAfter;
	}

	private @Nullable RuntimeException deliver(ConsumerRecord<?, ?> record) {
		KafkaUtils.setConsumerGroupId(this.container.getGroupId());
		try {
			byte[] info = this.container.getListenerInfo();
			if (info != null) {
				record.headers().add(KafkaHeaders.LISTENER_INFO, info);
			}
			RecordInterceptor<?, ?> interceptor = this.container.getRecordInterceptor();
			if (interceptor != null) {
				intercept(interceptor, record);
			}
			else {
				this.delivery.accept(record);
			}
			return null;
		}
		catch (RuntimeException ex) {
			return ex;
		}
		finally {
			KafkaUtils.clearConsumerGroupId();
		}
	}

	@SuppressWarnings("unchecked")
	private <K, V> void intercept(RecordInterceptor<K, V> interceptor, ConsumerRecord<?, ?> delivered) {
		org.apache.kafka.clients.consumer.Consumer<K, V> own = (org.apache.kafka.clients.consumer.Consumer<K, V>) consumer();
		ConsumerRecord<K, V> original = (ConsumerRecord<K, V>) delivered;
		interceptor.setupThreadState(own);
		try {
			ConsumerRecord<K, V> record = interceptor.intercept(original, own);
			if (record == null) {
				return;
			}
			try {
				this.delivery.accept(record);
				interceptor.success(record, own);
			}
			catch (RuntimeException ex) {
				interceptor.failure(record, ex, own);
				throw ex;
			}
			finally {
				interceptor.afterRecord(record, own);
			}
		}
		finally {
			interceptor.clearThreadState(own);
		}
	}

	private boolean handle(RuntimeException failure, ConsumerRecord<?, ?> record) {
		CommonErrorHandler handler = this.container.getCommonErrorHandler();
		String problem = BlockedRecordHandling.singleRecordProblem(handler);
		if (handler == null || problem != null) {
			throw new IllegalStateException("The error handler of the container " + problem, failure);
		}
		this.errorHandler = handler;
		RuntimeException thrown = (failure instanceof ListenerExecutionFailedException)
				? new ListenerExecutionFailedException(String.valueOf(failure.getMessage()),
						String.valueOf(this.container.getGroupId()), failure.getCause())
				: failure;
		logger.debug("A parked record has failed", failure);
		return handler.handleOne(thrown, record, consumer(), this.container);
	}

	private org.apache.kafka.clients.consumer.Consumer<?, ?> consumer() {
		org.apache.kafka.clients.consumer.Consumer<?, ?> own = this.consumer;
		if (own == null) {
			own = this.consumers.create();
			this.consumer = own;
		}
		return own;
	}

	/**
	 * Close the consumer, which is created again when it is needed.
	 */
	void rest() {
		org.apache.kafka.clients.consumer.Consumer<?, ?> own = this.consumer;
		this.consumer = null;
		if (own != null) {
			own.close(org.apache.kafka.clients.consumer.CloseOptions.timeout(Duration.ZERO));
		}
	}

	/**
	 * End the use of this thread.
	 */
	void end() {
		rest();
		if (this.errorHandler != null) {
			this.errorHandler.clearThreadState();
		}
	}

	/**
	 * The outcome of a run.
	 *
	 * @param outcome the outcome, {@code null} if the record is not done
	 * @param delay the time until the next run
	 * @param failed whether the error handler wants the record to be delivered again
	 */
	record Result(@Nullable ParkedOutcome outcome, Duration delay, boolean failed) {

		static Result done(ParkedOutcome outcome) {
			return new Result(outcome, Duration.ZERO, false);
		}

		static Result later(Duration delay) {
			return new Result(null, delay, false);
		}

		static Result failed(ParkedEntry entry, ParkedRecords store) {
			store.countAttempt(entry.id());
			return new Result(null, Duration.ZERO, true);
		}

	}

}
