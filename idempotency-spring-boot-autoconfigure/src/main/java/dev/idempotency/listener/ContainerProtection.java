package dev.idempotency.listener;

import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.support.AopUtils;
import org.springframework.aop.target.SingletonTargetSource;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.kafka.config.KafkaListenerEndpoint;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.config.MethodKafkaListenerEndpoint;
import org.springframework.kafka.config.MultiMethodKafkaListenerEndpoint;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.util.StringUtils;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.Idempotent;

/**
 * Prepares the container of an endpoint that has {@code @Idempotent} methods; every other
 * container stays as it is.
 *
 * @since 0.1.0
 */
public final class ContainerProtection {

	private static final Log logger = LogFactory.getLog(ContainerProtection.class);

	private final ListenerSettingsFactory settings;

	private final PartitionPauses pauses;

	private final TopicRetentions retentions;

	private final Set<Method> methods = ConcurrentHashMap.newKeySet();

	private final Map<String, Method> scopes = new ConcurrentHashMap<>();

	public ContainerProtection(ListenerSettingsFactory settings, PartitionPauses pauses, TopicRetentions retentions) {
		this.settings = settings;
		this.pauses = pauses;
		this.retentions = retentions;
	}

	/**
	 * Whether a delivery to the method is protected by some container.
	 * @param method the method
	 * @return whether it is registered
	 */
	boolean isProtected(Method method) {
		return this.methods.contains(method);
	}

	static boolean concerns(KafkaListenerEndpoint endpoint) {
		return endpoint instanceof MethodKafkaListenerEndpoint<?, ?> method && methods(method).stream()
			.anyMatch((candidate) -> annotation(candidate, AopUtils.getTargetClass(method.getBean())) != null);
	}

	void protect(MessageListenerContainer container, KafkaListenerEndpoint endpoint, ConsumerSettings consumers,
			KafkaListenerEndpointRegistry registry) {
		MethodKafkaListenerEndpoint<?, ?> methodEndpoint = (MethodKafkaListenerEndpoint<?, ?>) endpoint;
		Object bean = methodEndpoint.getBean();
		Class<?> targetClass = AopUtils.getTargetClass(bean);
		Map<Method, ProtectedListener> listeners = new HashMap<>();
		for (Method candidate : methods(methodEndpoint)) {
			Idempotent annotation = annotation(candidate, targetClass);
			if (annotation != null) {
				Method method = AopUtils.getMostSpecificMethod(candidate, targetClass);
				ListenerChecks.check(bean, method, container, consumers.autoCommit());
				// Those of retry topics come later.
				boolean first = this.methods.add(method);
				ListenerSettings listenerSettings = this.settings.create(annotation, method, targetClass,
						ListenerShape.of(method, container));
				listeners.put(method, listener(annotation, method, targetClass, container, registry, listenerSettings));
				if (first) {
					LeaseCheck.warn(listenerSettings, consumers);
				}
				this.retentions.add(new RememberedKeys(listenerSettings.name(), container.getContainerProperties(),
						listenerSettings.retention()));
			}
		}
		ListenerChecks.checkNotMixed(methods(methodEndpoint), targetClass);
		ContainerInstallation.install((AbstractMessageListenerContainer<?, ?>) container,
				new ProtectedListeners(targetClass, listeners), this.pauses);
	}

	private ProtectedListener listener(Idempotent annotation, Method method, Class<?> targetClass,
			MessageListenerContainer container, KafkaListenerEndpointRegistry registry,
			ListenerSettings listenerSettings) {
		ListenerShape shape = ListenerShape.of(method, container);
		String explicit = this.settings.resolve(annotation.scope());
		String scope = StringUtils.hasText(explicit) ? explicit
				: ListenerScope.of(method, targetClass, container, registry);
		String problem = IdempotencyKey.problem(scope);
		if (problem != null) {
			throw new IdempotencyConfigurationException(
					"The scope of the idempotent listener " + listenerSettings.name() + " " + problem + ".",
					"Set 'scope' of @Idempotent to a text of up to " + IdempotencyKey.MAX_LENGTH + " characters.");
		}
		Method other = this.scopes.putIfAbsent(scope, method);
		if (other != null && !other.equals(method)) {
			logger.warn("The idempotent listeners " + listenerSettings.name() + " and "
					+ ListenerSettingsFactory.where(other, other.getDeclaringClass()) + " share the scope '" + scope
					+ "': a key that one has processed is a duplicate for the other. Name two scopes unless that is meant");
		}
		logger.info("Idempotent listener " + listenerSettings.name() + ": scope '" + scope + "', mode "
				+ listenerSettings.mode() + ", store '" + listenerSettings.template().store().name() + "', lease "
				+ listenerSettings.lease() + ", retention " + listenerSettings.retention());
		if (shape.async() != null) {
			logger.warn("The idempotent listener " + listenerSettings.name() + " is asynchronous: Spring Kafka "
					+ "acknowledges a record whose processing fails before it retries it, so a crash in between loses "
					+ "that record. Return the result itself if that must not happen");
		}
		return shape.protect(listenerSettings, scope);
	}

	// With an advice chain the listener is a proxy, and setting a listener would advise
	// the
	// new one once more.
	static @Nullable Object target(@Nullable Object listener) {
		return (listener instanceof Advised advised
				&& advised.getTargetSource() instanceof SingletonTargetSource source) ? source.getTarget() : listener;
	}

	private static List<Method> methods(MethodKafkaListenerEndpoint<?, ?> endpoint) {
		return (endpoint instanceof MultiMethodKafkaListenerEndpoint<?, ?> multi) ? multi.getMethods()
				: List.of(endpoint.getMethod());
	}

	private static @Nullable Idempotent annotation(Method method, Class<?> targetClass) {
		Idempotent annotation = AnnotatedElementUtils
			.findMergedAnnotation(AopUtils.getMostSpecificMethod(method, targetClass), Idempotent.class);
		return (annotation != null) ? annotation
				: AnnotatedElementUtils.findMergedAnnotation(targetClass, Idempotent.class);
	}

}
