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
import org.springframework.kafka.listener.CommonErrorHandler;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.ExceptionClassifier;
import org.springframework.kafka.listener.MessageListener;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.util.Assert;
import org.springframework.util.StringUtils;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyKeyMissingException;
import dev.idempotency.IdempotencyKeyReusedException;
import dev.idempotency.Idempotent;
import dev.idempotency.StoredResultUnreadableException;

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

	private final Set<Method> methods = ConcurrentHashMap.newKeySet();

	private final Map<String, Method> scopes = new ConcurrentHashMap<>();

	public ContainerProtection(ListenerSettingsFactory settings, PartitionPauses pauses) {
		this.settings = settings;
		this.pauses = pauses;
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

	void protect(MessageListenerContainer container, KafkaListenerEndpoint endpoint, boolean autoCommit,
			KafkaListenerEndpointRegistry registry) {
		MethodKafkaListenerEndpoint<?, ?> methodEndpoint = (MethodKafkaListenerEndpoint<?, ?>) endpoint;
		Object bean = methodEndpoint.getBean();
		Class<?> targetClass = AopUtils.getTargetClass(bean);
		Map<Method, ProtectedListener> listeners = new HashMap<>();
		for (Method candidate : methods(methodEndpoint)) {
			ListenerChecks.checkSynchronous(candidate, targetClass);
			Idempotent annotation = annotation(candidate, targetClass);
			if (annotation != null) {
				Method method = AopUtils.getMostSpecificMethod(candidate, targetClass);
				ListenerChecks.check(bean, method, container, autoCommit);
				this.methods.add(method);
				listeners.put(method, listener(annotation, method, targetClass, container, registry));
			}
		}
		install((AbstractMessageListenerContainer<?, ?>) container, new ProtectedListeners(targetClass, listeners));
	}

	private ProtectedListener listener(Idempotent annotation, Method method, Class<?> targetClass,
			MessageListenerContainer container, KafkaListenerEndpointRegistry registry) {
		ListenerSettings listenerSettings = this.settings.create(annotation, method, targetClass);
		String explicit = this.settings.resolve(annotation.scope());
		String scope = StringUtils.hasText(explicit) ? explicit : scope(method, targetClass, container, registry);
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
		return new ProtectedListener(listenerSettings, scope);
	}

	// The group of the main container: those of retry topics may have a suffix, and are
	// registered after it.
	private static String scope(Method method, Class<?> targetClass, MessageListenerContainer container,
			KafkaListenerEndpointRegistry registry) {
		String mainId = container.getMainListenerId();
		MessageListenerContainer main = (mainId != null) ? registry.getListenerContainer(mainId) : null;
		String group = ((main != null) ? main : container).getGroupId();
		if (group == null) {
			throw new IdempotencyConfigurationException(
					"The idempotent listener " + ListenerSettingsFactory.where(method, targetClass)
							+ " has no consumer group to take its scope from.",
					"Set 'scope' of @Idempotent, or 'groupId' of @KafkaListener.");
		}
		StringBuilder scope = new StringBuilder(group).append('/')
			.append(targetClass.getName())
			.append('.')
			.append(method.getName());
		for (Class<?> type : method.getParameterTypes()) {
			scope.append(',').append(type.getSimpleName());
		}
		return scope.toString();
	}

	@SuppressWarnings("unchecked")
	private <K, V> void install(AbstractMessageListenerContainer<K, V> container, ProtectedListeners listeners) {
		Object listener = target(container.getContainerProperties().getMessageListener());
		Assert.state(listener != null, "A container has a listener when it is registered");
		container.setupMessageListener(new DeliveryListener<>((MessageListener<K, V>) listener, listeners));
		CommonErrorHandler errorHandler = container.getCommonErrorHandler();
		if (errorHandler == null) {
			// What the container would use.
			errorHandler = new DefaultErrorHandler();
		}
		if (errorHandler instanceof ExceptionClassifier classifier) {
			addRejections(classifier);
		}
		container.setCommonErrorHandler(new BlockedAwareErrorHandler(errorHandler, this.pauses));
	}

	@SuppressWarnings("unchecked")
	private static void addRejections(ExceptionClassifier classifier) {
		classifier.addNotRetryableExceptions(IdempotencyKeyMissingException.class, IdempotencyKeyReusedException.class,
				StoredResultUnreadableException.class);
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
