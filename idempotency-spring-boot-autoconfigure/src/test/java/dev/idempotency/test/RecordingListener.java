package dev.idempotency.test;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

import dev.idempotency.IdempotencyListener;
import dev.idempotency.StoreCircuit;

/**
 * Remembers what it is told.
 */
public final class RecordingListener implements IdempotencyListener {

	private final List<Execution> executions = new CopyOnWriteArrayList<>();

	private final List<String> storeCalls = new CopyOnWriteArrayList<>();

	private final List<String> circuits = new CopyOnWriteArrayList<>();

	@Override
	public void circuitChanged(String store, StoreCircuit.State state) {
		this.circuits.add(store + " " + state);
	}

	public List<String> circuits() {
		return this.circuits;
	}

	@Override
	public void executed(Execution execution) {
		this.executions.add(execution);
	}

	@Override
	public void storeCalled(String store, StoreCall call, boolean available, Duration duration) {
		this.storeCalls.add(store + " " + call + (available ? "" : " unavailable"));
	}

	public List<Execution> executions() {
		return this.executions;
	}

	public List<Outcome> outcomes() {
		return this.executions.stream().map(Execution::outcome).toList();
	}

	public List<String> storeCalls() {
		return this.storeCalls;
	}

}
