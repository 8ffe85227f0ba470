package dev.idempotency.listener;

import java.util.List;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.listener.AcknowledgingConsumerAwareMessageListener;
import org.springframework.kafka.listener.MessageListener;
import org.springframework.kafka.listener.adapter.AbstractDelegatingMessageListenerAdapter;
import org.springframework.kafka.listener.adapter.AsyncRepliesAware;
import org.springframework.kafka.support.Acknowledgment;

import dev.idempotency.listener.error.BlockedAwareErrorHandler;
import dev.idempotency.listener.error.KafkaTransactionCompletions;

/**
 * Binds the delivery around the container's own listener. A record interceptor could not:
 * it does not see the acknowledgment.
 *
 * @param <K> the type of record keys
 * @param <V> the type of record values
 */
final class DeliveryListener<K, V> extends AbstractDelegatingMessageListenerAdapter<MessageListener<K, V>>
		implements AcknowledgingConsumerAwareMessageListener<K, V>, AsyncRepliesAware {

	private final ProtectedListeners listeners;

	private final boolean transactional;

	DeliveryListener(MessageListener<K, V> delegate, ProtectedListeners listeners, boolean transactional) {
		super(delegate);
		this.listeners = listeners;
		this.transactional = transactional;
	}

	// The container calls the method of the type that it finds behind all delegates.
	@Override
	public void onMessage(ConsumerRecord<K, V> record) {
		onMessage(record, null, null);
	}

	@Override
	public void onMessage(ConsumerRecord<K, V> record, @Nullable Acknowledgment acknowledgment) {
		onMessage(record, acknowledgment, null);
	}

	@Override
	public void onMessage(ConsumerRecord<K, V> record, @Nullable Consumer<?, ?> consumer) {
		onMessage(record, null, consumer);
	}

	@Override
	public void onMessage(ConsumerRecord<K, V> record, @Nullable Acknowledgment acknowledgment,
			@Nullable Consumer<?, ?> consumer) {
		List<ConsumerRecord<K, V>> records = List.of(record);
		DeliveryAcknowledgment held = DeliveryAcknowledgment.of(acknowledgment, records,
				this.listeners.unacknowledged());
		Delivery delivery = new Delivery(this.listeners, records, held);
		if (this.transactional) {
			KafkaTransactionCompletions.begin();
		}
		Delivery previous = Delivery.bind(delivery);
		BlockedAwareErrorHandler.setBlocked(null);
		try {
			switch (this.delegateType) {
				case ACKNOWLEDGING_CONSUMER_AWARE -> this.delegate.onMessage(record, held, consumer);
				case ACKNOWLEDGING -> this.delegate.onMessage(record, held);
				case CONSUMER_AWARE -> this.delegate.onMessage(record, consumer);
				case SIMPLE -> this.delegate.onMessage(record);
			}
			delivery.rethrowIfBlocked();
		}
		catch (RuntimeException | Error ex) {
			// Advice around the method may have turned it into another exception.
			delivery.rethrowIfBlocked();
			throw ex;
		}
		finally {
			Delivery.unbind(delivery, previous);
			BlockedAwareErrorHandler.setBlocked(delivery.blocked());
		}
	}

	// The container looks here for it.
	@Override
	public boolean isAsyncReplies() {
		return this.delegate instanceof AsyncRepliesAware aware && aware.isAsyncReplies();
	}

}
