package dev.idempotency.listener;

import java.util.ArrayList;
import java.util.List;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.listener.BatchAcknowledgingConsumerAwareMessageListener;
import org.springframework.kafka.listener.BatchMessageListener;
import org.springframework.kafka.listener.adapter.AbstractDelegatingMessageListenerAdapter;
import org.springframework.kafka.support.Acknowledgment;

import dev.idempotency.listener.error.KafkaTransactionCompletions;

/**
 * Binds the delivery of a batch around the container's own listener.
 *
 * @param <K> the type of record keys
 * @param <V> the type of record values
 */
final class BatchDeliveryListener<K, V> extends AbstractDelegatingMessageListenerAdapter<BatchMessageListener<K, V>>
		implements BatchAcknowledgingConsumerAwareMessageListener<K, V> {

	private final ProtectedListeners listeners;

	private final boolean transactional;

	BatchDeliveryListener(BatchMessageListener<K, V> delegate, ProtectedListeners listeners, boolean transactional) {
		super(delegate);
		this.listeners = listeners;
		this.transactional = transactional;
	}

	@Override
	public boolean wantsPollResult() {
		return this.delegate.wantsPollResult();
	}

	// The container calls the method of the type that it finds behind all delegates.
	@Override
	public void onMessage(List<ConsumerRecord<K, V>> records) {
		onMessage(records, null, null);
	}

	@Override
	public void onMessage(List<ConsumerRecord<K, V>> records, @Nullable Acknowledgment acknowledgment) {
		onMessage(records, acknowledgment, null);
	}

	@Override
	public void onMessage(List<ConsumerRecord<K, V>> records, @Nullable Consumer<?, ?> consumer) {
		onMessage(records, null, consumer);
	}

	@Override
	public void onMessage(ConsumerRecords<K, V> records, @Nullable Acknowledgment acknowledgment,
			Consumer<K, V> consumer) {
		List<ConsumerRecord<K, V>> list = new ArrayList<>(records.count());
		records.forEach(list::add);
		deliver(list, acknowledgment, (held) -> this.delegate.onMessage(records, held, consumer));
	}

	@Override
	public void onMessage(List<ConsumerRecord<K, V>> records, @Nullable Acknowledgment acknowledgment,
			@Nullable Consumer<?, ?> consumer) {
		deliver(records, acknowledgment, (held) -> {
			switch (this.delegateType) {
				case ACKNOWLEDGING_CONSUMER_AWARE -> this.delegate.onMessage(records, held, consumer);
				case ACKNOWLEDGING -> this.delegate.onMessage(records, held);
				case CONSUMER_AWARE -> this.delegate.onMessage(records, consumer);
				case SIMPLE -> this.delegate.onMessage(records);
			}
		});
	}

	private void deliver(List<ConsumerRecord<K, V>> records, @Nullable Acknowledgment acknowledgment,
			java.util.function.Consumer<@Nullable DeliveryAcknowledgment> listener) {
		DeliveryAcknowledgment held = DeliveryAcknowledgment.of(acknowledgment, List.copyOf(records),
				this.listeners.unacknowledged());
		Delivery delivery = new Delivery(this.listeners, records, held);
		if (this.transactional) {
			KafkaTransactionCompletions.begin();
		}
		Delivery previous = Delivery.bind(delivery);
		try {
			listener.accept(held);
			delivery.rethrowIfBlocked();
		}
		catch (RuntimeException | Error ex) {
			// Advice around the method may have turned it into another exception.
			delivery.rethrowIfBlocked();
			throw ex;
		}
		finally {
			Delivery.unbind(delivery, previous);
		}
	}

}
