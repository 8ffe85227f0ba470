package dev.idempotency.autoconfigure;

import java.util.List;

import org.springframework.context.Lifecycle;
import org.springframework.context.SmartLifecycle;

/**
 * Starts and stops several components in one phase. The components are not beans, so that
 * they cannot replace or hide beans of the same type. The group may be empty.
 */
final class LifecycleGroup implements SmartLifecycle {

	private final int phase;

	private final List<? extends Lifecycle> members;

	LifecycleGroup(int phase, List<? extends Lifecycle> members) {
		this.phase = phase;
		this.members = List.copyOf(members);
	}

	List<? extends Lifecycle> members() {
		return this.members;
	}

	@Override
	public void start() {
		this.members.forEach(Lifecycle::start);
	}

	@Override
	public void stop() {
		this.members.forEach(Lifecycle::stop);
	}

	@Override
	public boolean isRunning() {
		return this.members.stream().anyMatch(Lifecycle::isRunning);
	}

	@Override
	public int getPhase() {
		return this.phase;
	}

}
