package dev.idempotency.listener;

import java.lang.reflect.Method;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;

import dev.idempotency.listener.key.ListenerScope;

/**
 * The protected methods of one endpoint.
 */
final class ProtectedListeners {

	private final Class<?> targetClass;

	private final Map<Method, ProtectedListener> listeners;

	private final UnacknowledgedRecords unacknowledged;

	private final Collection<ListenerScope> scopes;

	private final Map<Method, Optional<ProtectedListener>> resolved = new ConcurrentHashMap<>();

	ProtectedListeners(Class<?> targetClass, Map<Method, ProtectedListener> listeners, Collection<ListenerScope> scopes,
			UnacknowledgedRecords unacknowledged) {
		this.scopes = List.copyOf(scopes);
		this.unacknowledged = unacknowledged;
		this.targetClass = targetClass;
		this.listeners = Map.copyOf(listeners);
	}

	UnacknowledgedRecords unacknowledged() {
		return this.unacknowledged;
	}

	/**
	 * A record has failed, and its error handler may publish it to a retry topic: its
	 * copy there is then known as this record, whatever headers its producer has copied.
	 * @param record the record
	 */
	void failed(ConsumerRecord<?, ?> record) {
		this.scopes.forEach((scope) -> scope.recordFailed(record));
	}

	/**
	 * The protection of an invoked method, which may be the bridge or the interface
	 * method of the one that was registered.
	 * @param invoked the method
	 * @return its protection, {@code null} if it has none here
	 */
	@Nullable ProtectedListener get(Method invoked) {
		return this.resolved.computeIfAbsent(invoked, this::resolve).orElse(null);
	}

	private Optional<ProtectedListener> resolve(Method invoked) {
		return Optional.ofNullable(this.listeners.get(AopUtils.getMostSpecificMethod(invoked, this.targetClass)));
	}

}
