package dev.idempotency.listener;

import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * The calls of the listeners and interceptors of {@link InterceptionTests}.
 */
class InterceptionLog {

	private final Map<String, Queue<String>> seen = new ConcurrentHashMap<>();

	Queue<String> of(String name) {
		return this.seen.computeIfAbsent(name, (key) -> new ConcurrentLinkedQueue<>());
	}

}
