package dev.idempotency.stream;

import java.util.Set;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.springframework.cloud.stream.binder.Binding;
import org.springframework.cloud.stream.binder.BindingCreatedEvent;
import org.springframework.context.ApplicationListener;
import org.springframework.context.SmartLifecycle;

/**
 * Fails the start of an application with a function that cannot be protected, because the
 * binding service only logs exceptions. Runs after the inputs are bound.
 */
final class BindingStartupCheck implements SmartLifecycle, ApplicationListener<BindingCreatedEvent> {

	private static final Log logger = LogFactory.getLog(BindingStartupCheck.class);

	// The inputs are bound at Integer.MAX_VALUE - 3000.
	private static final int PHASE = Integer.MAX_VALUE - 2999;

	private final BindingProtection bindings;

	private volatile boolean running;

	BindingStartupCheck(BindingProtection bindings) {
		this.bindings = bindings;
	}

	@Override
	public void onApplicationEvent(BindingCreatedEvent event) {
		Binding<?> binding = (Binding<?>) event.getSource();
		if (binding.isInput() && "kafka".equals(binding.getBinderType())) {
			this.bindings.verify(binding.getBindingName());
		}
	}

	@Override
	public void start() {
		this.bindings.rethrowFailure();
		this.running = true;
		Set<String> unprotected = this.bindings.unprotected();
		if (!unprotected.isEmpty()) {
			logger.warn("@Idempotent has no effect on the functions " + unprotected
					+ ": no binding of a Kafka binder names them in its function definition. Bind each of them to a "
					+ "Kafka topic, or remove @Idempotent");
		}
	}

	@Override
	public void stop() {
		this.running = false;
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
