package dev.idempotency.listener;

import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * What the listeners of {@link InterceptionTests} and their neighbours saw.
 */
class InterceptionLog {

	private final Map<String, Queue<String>> seen = new ConcurrentHashMap<>();

	Queue<String> of(String name) {
		return this.seen.computeIfAbsent(name, (key) -> new ConcurrentLinkedQueue<>());
	}

}
