package dev.idempotency.listener.parked;

import java.time.Instant;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;

import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import dev.idempotency.store.ParkedPartition;
import dev.idempotency.template.IdempotencyListener.Parked;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link ParkedQueue}.
 */
@Tag("promise-1")
class ParkedQueueTests {

	private final ParkedQueue queue = new ParkedQueue(new TopicPartition("topic", 0),
			new ParkedPartition("scope", "topic", 0));

	@Test
	void queueThatHasEndedDoesNotTakeOverItsPartition() {
		this.queue.deactivate();
		AtomicBoolean takenOver = new AtomicBoolean();
		this.queue.load(() -> takenOver.set(true));
		assertThat(takenOver).isFalse();
	}

	@Test
	void queueThatHasEndedAcceptsNoRecords() {
		this.queue.deactivate();
		assertThat(this.queue
			.add(new ParkedEntry(UUID.randomUUID(), "key", new Parked("listener", "topic", 0, 1, Instant.now()))))
			.isFalse();
		assertThat(this.queue.isEmpty()).isTrue();
	}

}
