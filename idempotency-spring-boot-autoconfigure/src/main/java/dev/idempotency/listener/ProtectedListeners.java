package dev.idempotency.listener;

import java.lang.reflect.Method;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;

/**
 * The protected methods of one endpoint.
 */
final class ProtectedListeners {

	private final Class<?> targetClass;

	private final Map<Method, ProtectedListener> listeners;

	private final UnacknowledgedRecords unacknowledged;

	private final Map<Method, Optional<ProtectedListener>> resolved = new ConcurrentHashMap<>();

	ProtectedListeners(Class<?> targetClass, Map<Method, ProtectedListener> listeners,
			UnacknowledgedRecords unacknowledged) {
		this.unacknowledged = unacknowledged;
		this.targetClass = targetClass;
		this.listeners = Map.copyOf(listeners);
	}

	UnacknowledgedRecords unacknowledged() {
		return this.unacknowledged;
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
