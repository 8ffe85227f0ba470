package dev.idempotency.listener.setup;

import java.lang.reflect.Method;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationListener;
import org.springframework.context.event.ContextRefreshedEvent;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.util.ClassUtils;

import dev.idempotency.listener.delivery.ListenerSettings;
import dev.idempotency.listener.function.FunctionProtection;
import dev.idempotency.listener.method.IdempotentAdvisor;

/**
 * Verifies, before any container starts, that the annotated methods are protected. The
 * post-processors of a context do not apply to the beans of its child contexts, so the
 * start of a child context with an idempotent listener fails.
 */
final class ListenerStartupCheck extends StartupCheck implements ApplicationListener<ContextRefreshedEvent> {

	private static final Log logger = LogFactory.getLog(ListenerStartupCheck.class);

	private final IdempotentAdvisor advisor;

	private final ObjectProvider<KafkaListenerEndpointRegistry> registry;

	private final ObjectProvider<ContainerProtection> protection;

	private final ObjectProvider<FunctionProtection> functions;

	private final ApplicationContext context;

	ListenerStartupCheck(IdempotentAdvisor advisor, ObjectProvider<KafkaListenerEndpointRegistry> registry,
			ObjectProvider<ContainerProtection> protection, ObjectProvider<FunctionProtection> functions,
			ApplicationContext context) {
		super(Integer.MIN_VALUE);
		this.context = context;
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

	// A child context publishes its events to its parent.
	@Override
	public void onApplicationEvent(ContextRefreshedEvent event) {
		ApplicationContext refreshed = event.getApplicationContext();
		if (refreshed == this.context || refreshed.getBeanNamesForType(getClass()).length > 0) {
			return;
		}
		for (String name : refreshed.getBeanDefinitionNames()) {
			Class<?> type = refreshed.getType(name, false);
			if (type != null && IdempotentAdvisor.isCandidate(ClassUtils.getUserClass(type))) {
				IdempotentAdvisor.listenerMethods(ClassUtils.getUserClass(type)).forEach((method) -> {
					throw ListenerChecks.refusal(ListenerSettings.where(method, method.getDeclaringClass()),
							"its bean belongs to the context '" + refreshed.getDisplayName()
									+ "', and the library is configured in a parent of that context only",
							"Declare the listener in the parent, or enable the auto-configuration in its own context.");
				});
			}
		}
	}

}
