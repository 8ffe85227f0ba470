package dev.idempotency.listener.setup;

import java.lang.reflect.Method;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;

import dev.idempotency.listener.delivery.ListenerSettings;
import dev.idempotency.listener.function.FunctionProtection;
import dev.idempotency.listener.method.IdempotentAdvisor;

/**
 * Verifies, before any container starts, that the annotated methods are protected.
 */
final class ListenerStartupCheck extends StartupCheck {

	private static final Log logger = LogFactory.getLog(ListenerStartupCheck.class);

	private final IdempotentAdvisor advisor;

	private final ObjectProvider<KafkaListenerEndpointRegistry> registry;

	private final ObjectProvider<ContainerProtection> protection;

	private final ObjectProvider<FunctionProtection> functions;

	ListenerStartupCheck(IdempotentAdvisor advisor, ObjectProvider<KafkaListenerEndpointRegistry> registry,
			ObjectProvider<ContainerProtection> protection, ObjectProvider<FunctionProtection> functions) {
		super(Integer.MIN_VALUE);
		this.functions = functions;
		this.advisor = advisor;
		this.registry = registry;
		this.protection = protection;
	}

	@Override
	protected void check() {
		if (!this.advisor.isUsed()) {
			return;
		}
		this.registry.ifAvailable(ListenerRegistryPostProcessor::check);
		ContainerProtection containers = this.protection.getObject();
		boolean checksFunctions = this.functions.getIfAvailable() != null;
		for (Method method : this.advisor.markedMethods()) {
			if (!containers.isProtected(method) && !(checksFunctions && FunctionProtection.isFunction(method))) {
				logger.warn("@Idempotent has no effect on " + ListenerSettings.where(method, method.getDeclaringClass())
						+ " unless a Kafka listener is registered for it later. Put it on a @KafkaListener method");
			}
		}
	}

}
