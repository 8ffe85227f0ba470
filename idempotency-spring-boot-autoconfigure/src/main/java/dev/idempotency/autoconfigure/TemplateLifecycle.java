package dev.idempotency.autoconfigure;

import org.springframework.context.SmartLifecycle;

import dev.idempotency.template.IdempotencyTemplate;

/**
 * Settles what is left when the listener containers have stopped and the connections to
 * the store have not.
 */
final class TemplateLifecycle implements SmartLifecycle {

	// Containers stop at Integer.MAX_VALUE - 100, a Redis connection factory at 0.
	private static final int PHASE = Integer.MAX_VALUE / 2;

	private final IdempotencyTemplate template;

	private volatile boolean running;

	TemplateLifecycle(IdempotencyTemplate template) {
		this.template = template;
	}

	@Override
	public void start() {
		this.running = true;
	}

	@Override
	public void stop() {
		this.running = false;
		this.template.settle();
	}

	@Override
	public boolean isRunning() {
		return this.running;
	}

	@Override
	public int getPhase() {
		return PHASE;
	}

}
