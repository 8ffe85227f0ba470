package dev.idempotency.autoconfigure;

import java.util.List;

import org.springframework.context.Lifecycle;
import org.springframework.context.SmartLifecycle;

/**
 * Starts and stops what an outbox has running beside its relay. None of it is a bean: an
 * application has a cleanup of its records already.
 */
final class OutboxLifecycle implements SmartLifecycle {

	private final List<Lifecycle> parts;

	OutboxLifecycle(List<Lifecycle> parts) {
		this.parts = List.copyOf(parts);
	}

	@Override
	public void start() {
		this.parts.forEach(Lifecycle::start);
	}

	@Override
	public void stop() {
		this.parts.forEach(Lifecycle::stop);
	}

	@Override
	public boolean isRunning() {
		return this.parts.stream().anyMatch(Lifecycle::isRunning);
	}

}
