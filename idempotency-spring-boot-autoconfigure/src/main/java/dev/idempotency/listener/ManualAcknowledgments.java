package dev.idempotency.listener;

import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.springframework.context.SmartLifecycle;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.scheduling.concurrent.CustomizableThreadFactory;

import dev.idempotency.IdempotencyKey;

/**
 * The {@link UnacknowledgedRecords} of all containers. Within a second, releases those of
 * partitions that are revoked, and acknowledges those whose completion the store has
 * taken late. Releases all of them when the containers have stopped and the store is
 * still there.
 *
 * @since 0.1.0
 */
public final class ManualAcknowledgments implements SmartLifecycle {

	private static final Log logger = LogFactory.getLog(ManualAcknowledgments.class);

	// Containers stop at Integer.MAX_VALUE - 100, the template is settled at half of it.
	private static final int PHASE = Integer.MAX_VALUE / 2 + 1;

	// A container may be unregistered.
	private final Map<MessageListenerContainer, UnacknowledgedRecords> records = Collections
		.synchronizedMap(new WeakHashMap<>());

	// Only records that wait.
	private final Map<IdempotencyKey, UnacknowledgedRecords.Waiting> originals = new ConcurrentHashMap<>();

	private @Nullable ScheduledExecutorService executor;

	UnacknowledgedRecords create(MessageListenerContainer container) {
		if (!ListenerShape.isManual(container.getContainerProperties().getAckMode())) {
			return UnacknowledgedRecords.NONE;
		}
		UnacknowledgedRecords created = new UnacknowledgedRecords(this.originals);
		this.records.put(container, created);
		watch();
		return created;
	}

	private synchronized void watch() {
		if (this.executor == null) {
			CustomizableThreadFactory threads = new CustomizableThreadFactory("idempotency-acknowledgments-");
			threads.setDaemon(true);
			this.executor = Executors.newSingleThreadScheduledExecutor(threads);
			this.executor.scheduleWithFixedDelay(this::releaseRevoked, 1, 1, TimeUnit.SECONDS);
		}
	}

	private void releaseRevoked() {
		for (Map.Entry<MessageListenerContainer, UnacknowledgedRecords> entry : entries()) {
			try {
				if (!entry.getValue().isEmpty()) {
					// None when its consumers have stopped.
					Collection<TopicPartition> assigned = entry.getKey().getAssignedPartitions();
					entry.getValue().retain((assigned != null) ? assigned : List.of());
					entry.getValue().settle();
				}
			}
			catch (RuntimeException ex) {
				logger.warn("Records that were not acknowledged could not be released, or an acknowledgment that "
						+ "waited for its completion could not be passed on", ex);
			}
		}
	}

	private List<Map.Entry<MessageListenerContainer, UnacknowledgedRecords>> entries() {
		synchronized (this.records) {
			return this.records.entrySet()
				.stream()
				.map((entry) -> Map.entry(entry.getKey(), entry.getValue()))
				.toList();
		}
	}

	@Override
	public synchronized void start() {
		if (!this.records.isEmpty()) {
			watch();
		}
	}

	@Override
	public synchronized void stop() {
		if (this.executor != null) {
			this.executor.shutdownNow();
			this.executor = null;
		}
		entries().forEach((entry) -> entry.getValue().retain(List.of()));
	}

	@Override
	public synchronized boolean isRunning() {
		return this.executor != null;
	}

	@Override
	public int getPhase() {
		return PHASE;
	}

}
