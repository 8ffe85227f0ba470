package dev.idempotency.producer;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.ApplicationRecoverableException;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.ClusterAuthorizationException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.errors.UnknownServerException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.kafka.core.ProducerFactory;

import dev.idempotency.outbox.OutboxPublisher;
import dev.idempotency.outbox.OutboxRow;

/**
 * Sends stored messages with a producer that is configured as the application's own, but
 * waits for all replicas and is idempotent, takes bytes, and gives up in time.
 *
 * @since 0.1.0
 */
public final class KafkaOutboxPublisher implements OutboxPublisher, DisposableBean {

	private static final String NEIGHBOUR = "Failed to append record because it was part of a batch";

	private final RelayProducers producers;

	private final Set<String> keyHeaders;

	// Of the relay's thread. While it is open so is a round, which keeps its producer.
	private CompletableFuture<Void> last = CompletableFuture.completedFuture(null);

	// Of the relay's thread and the producer's.
	private volatile boolean doubtful;

	/**
	 * Create a publisher.
	 * @param factory the factory of the application's {@code KafkaTemplate}
	 * @param sendTimeout how long a message may take
	 * @param keyHeaders headers for the idempotency key, besides {@code Idempotency-Key}
	 * and the one of {@link IdempotencyKeyInterceptor}, if the factory names one for it
	 */
	public KafkaOutboxPublisher(ProducerFactory<?, ?> factory, Duration sendTimeout, Set<String> keyHeaders) {
		this.producers = new RelayProducers(factory, sendTimeout);
		Set<String> headers = new HashSet<>(keyHeaders);
		headers.add(OutboxRow.KEY_HEADER);
		Object header = factory.getConfigurationProperties().get(IdempotencyKeyInterceptor.HEADER_CONFIG);
		if (header != null) {
			headers.add(header.toString());
		}
		this.keyHeaders = Set.copyOf(headers);
	}

	@Override
	public CompletionStage<?> publish(OutboxRow row) {
		CompletableFuture<Void> published = new CompletableFuture<>();
		try {
			producer().send(record(row), (metadata, error) -> {
				if (error == null) {
					published.complete(null);
				}
				else {
					this.doubtful |= isDoubtful(error);
					published.completeExceptionally(error);
				}
			});
		}
		catch (RuntimeException | Error ex) {
			this.doubtful |= isDoubtful(ex);
			published.completeExceptionally(ex);
		}
		this.last = published;
		return published;
	}

	// An Error in the producer's thread ends it, and the producer goes on taking
	// messages.
	@Override
	public void resultsOverdue() {
		this.doubtful = true;
	}

	private Producer<byte[], byte[]> producer() {
		if (this.doubtful) {
			this.doubtful = false;
			this.producers.renew();
		}
		else if (this.last.isDone()) {
			this.producers.follow();
		}
		return this.producers.get();
	}

	private ProducerRecord<byte[], byte[]> record(OutboxRow row) {
		ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(row.topic(), row.key(), row.payload());
		row.headers().forEach((header) -> record.headers().add(header.name(), header.value()));
		record.headers().add(OutboxRow.ID_HEADER, row.id().toString().getBytes(StandardCharsets.UTF_8));
		byte[] key = row.idempotencyKey().getBytes(StandardCharsets.UTF_8);
		// One of the application with such a name is not the key of this message.
		this.keyHeaders.forEach((name) -> record.headers().remove(name).add(name, key));
		return record;
	}

	// Whether the producer may be good for nothing by now.
	private boolean isDoubtful(Throwable error) {
		return !(error instanceof RetriableException) && kindOf(error) == FailureKind.UNAVAILABLE;
	}

	@Override
	public FailureKind kindOf(Throwable error) {
		if (isNeighbour(error)) {
			return FailureKind.NEIGHBOUR;
		}
		if (isUnknownTopic(error) || isUnknownTopic(error.getCause()) || error instanceof InvalidTopicException
				|| error instanceof TopicAuthorizationException) {
			return FailureKind.TOPIC_REFUSED;
		}
		if (!(error instanceof KafkaException) && !(error instanceof VirtualMachineError)
				&& !(error instanceof IllegalStateException)) {
			// A partitioner or an interceptor of the application, with this message.
			return FailureKind.REFUSED;
		}
		boolean refused = error instanceof ApiException && !(error instanceof RetriableException)
				&& !(error instanceof AuthenticationException) && !(error instanceof ClusterAuthorizationException)
				&& !(error instanceof UnknownServerException) && !isLostProducer(error);
		return refused ? FailureKind.REFUSED : FailureKind.UNAVAILABLE;
	}

	// Its producer sends a message until the time is over, in case the topic comes.
	private static boolean isUnknownTopic(@Nullable Throwable error) {
		return error instanceof UnknownTopicOrPartitionException;
	}

	// The producer has no exception of its own for it.
	private static boolean isNeighbour(Throwable error) {
		return error.getClass() == KafkaException.class && String.valueOf(error.getMessage()).startsWith(NEIGHBOUR);
	}

	private static boolean isLostProducer(Throwable error) {
		return error instanceof ApplicationRecoverableException || error instanceof OutOfOrderSequenceException;
	}

	@Override
	public void destroy() {
		this.producers.destroy();
	}

}
