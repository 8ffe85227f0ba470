package dev.idempotency.listener.delivery;

import java.lang.reflect.Method;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

import org.aopalliance.intercept.MethodInvocation;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;

import dev.idempotency.listener.async.AsyncRetries;
import dev.idempotency.listener.error.RecordOutcomes;
import dev.idempotency.listener.key.Coordinates;

/**
 * The {@code @Idempotent} methods of one endpoint.
 */
public final class ProtectedListeners implements RecordOutcomes {

	private final Class<?> targetClass;

	private final Map<Method, ProtectedListener> listeners;

	final ContainerAcknowledgments acknowledgments;

	// Whether the container keeps the offset of a record until a method acknowledges it.
	final boolean acknowledging;

	final TopicIdentities identities;

	private final AsyncRetries asyncRetries = new AsyncRetries();

	final BlockedRecords blockedRecords = new BlockedRecords(Duration.ofMinutes(1));

	private final Map<Method, Optional<ProtectedListener>> resolved = new ConcurrentHashMap<>();

	public ProtectedListeners(Class<?> targetClass, Map<Method, ProtectedListener> listeners,
			ContainerAcknowledgments acknowledgments, boolean acknowledging, TopicIdentities identities) {
		this.acknowledging = acknowledging;
		this.identities = identities;
		this.acknowledgments = acknowledgments;
		this.targetClass = targetClass;
		this.listeners = Map.copyOf(listeners);
	}

	// The error handler may publish the record to a retry topic. Its copy is then
	// recognized as this record, whatever headers its producer has copied.
	@Override
	public void failed(ConsumerRecord<?, ?> record) {
		this.listeners.values().forEach((listener) -> listener.settings().operations().scope().recordFailed(record));
	}

	@Override
	public void recovered(ConsumerRecord<?, ?> record) {
		this.acknowledgments.complete(List.of(record), true);
	}

	@Override
	public boolean isBehindUnacknowledged(ConsumerRecord<?, ?> record) {
		return this.acknowledgments.isWaiting(Coordinates.partition(record));
	}

	public AsyncRetries asyncRetries() {
		return this.asyncRetries;
	}

	// Return the protection of an invoked method. The method may be a bridge method
	// or the interface method of the registered one.
	public @Nullable ProtectedListener get(Method invoked) {
		return this.resolved.computeIfAbsent(invoked, this::resolve).orElse(null);
	}

	private Optional<ProtectedListener> resolve(Method invoked) {
		return Optional.ofNullable(this.listeners.get(AopUtils.getMostSpecificMethod(invoked, this.targetClass)));
	}

	public interface ProtectedListener {

		ListenerSettings settings();

		boolean acknowledging();

		@Nullable Object invoke(MethodInvocation invocation, Delivery delivery) throws Throwable;

	}

}
