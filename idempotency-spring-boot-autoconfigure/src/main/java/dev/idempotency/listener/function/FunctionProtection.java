package dev.idempotency.listener.function;

import java.lang.reflect.Method;
import java.lang.reflect.Type;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.core.ResolvableType;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.messaging.Message;
import org.springframework.util.ClassUtils;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.Idempotent;
import dev.idempotency.listener.delivery.Delivery;
import dev.idempotency.listener.method.AsyncResult;

/**
 * Protects function beans that are called by a listener container which no endpoint
 * registry knows, as the binder of Spring Cloud Stream creates them. The function must
 * run on the thread of the container and receive single records.
 *
 * @since 0.1.0
 */
public final class FunctionProtection {

	private static final List<Class<?>> KINDS = List.of(Function.class, Consumer.class, Supplier.class,
			BiFunction.class, BiConsumer.class);

	private final ConfigurableListableBeanFactory beanFactory;

	FunctionProtection(ConfigurableListableBeanFactory beanFactory) {
		this.beanFactory = beanFactory;
	}

	// Find the idempotent function with the given name, if there is one.
	public @Nullable IdempotentFunction find(String name) {
		if (!this.beanFactory.containsBean(name)) {
			return null;
		}
		Object bean = this.beanFactory.getBean(name);
		Class<?> advised = this.beanFactory.getBean(FunctionPostProcessor.class).advised(name);
		// Another post-processor may have wrapped the bean afterwards.
		Class<?> targetClass = (advised != null) ? advised : AopUtils.getTargetClass(bean);
		Method method = method(bean, targetClass);
		Idempotent annotation = annotation(name, method, targetClass, this.beanFactory);
		if (annotation == null) {
			return null;
		}
		if (method == null) {
			throw refusal(name, "it is neither a java.util.function.Function nor a java.util.function.Consumer",
					"Declare it as one of these, or receive the records with @KafkaListener.");
		}
		ResolvableType type = type(name, bean, targetClass);
		checkTypes(name, type);
		return new IdempotentFunction(name, annotation, method, targetClass, result(bean, type));
	}

	// Return whether the record of the current thread is blocked. It must reach the
	// error handler of its container without a retry.
	public static boolean isBlocked() {
		Delivery delivery = Delivery.current();
		return delivery != null && delivery.blocked() != null;
	}

	// The names of the idempotent function beans that exist.
	public Set<String> names() {
		return this.beanFactory.getBean(FunctionPostProcessor.class).names();
	}

	public static boolean isFunction(Method beanMethod) {
		return AnnotatedElementUtils.hasAnnotation(beanMethod, Bean.class)
				&& KINDS.stream().anyMatch((kind) -> kind.isAssignableFrom(beanMethod.getReturnType()));
	}

	static boolean isFunction(Object bean) {
		return KINDS.stream().anyMatch((kind) -> kind.isInstance(bean));
	}

	static @Nullable Method method(Object bean, Class<?> targetClass) {
		if (!(bean instanceof Function<?, ?>) && !(bean instanceof Consumer<?>)) {
			return null;
		}
		Method method = (bean instanceof Function<?, ?>) ? ClassUtils.getMethod(Function.class, "apply", Object.class)
				: ClassUtils.getMethod(Consumer.class, "accept", Object.class);
		return AopUtils.getMostSpecificMethod(method, targetClass);
	}

	static @Nullable Idempotent annotation(String name, @Nullable Method method, Class<?> targetClass,
			ConfigurableListableBeanFactory beanFactory) {
		Idempotent annotation = (method != null) ? AnnotatedElementUtils.findMergedAnnotation(method, Idempotent.class)
				: null;
		if (annotation == null) {
			annotation = AnnotatedElementUtils.findMergedAnnotation(targetClass, Idempotent.class);
		}
		return (annotation != null || !beanFactory.containsBean(name)) ? annotation
				: beanFactory.findAnnotationOnBean(name, Idempotent.class);
	}

	// The bean method declares the types of a lambda expression, whose class does not.
	private ResolvableType type(String name, Object bean, Class<?> targetClass) {
		BeanDefinition definition = this.beanFactory.containsBeanDefinition(name)
				? this.beanFactory.getMergedBeanDefinition(name) : null;
		ResolvableType type = (definition != null) ? definition.getResolvableType() : ResolvableType.NONE;
		Class<?> kind = (bean instanceof Function<?, ?>) ? Function.class : Consumer.class;
		ResolvableType declared = type.as(kind);
		return (declared != ResolvableType.NONE) ? declared : ResolvableType.forClass(targetClass).as(kind);
	}

	private static void checkTypes(String name, ResolvableType type) {
		for (ResolvableType generic : type.getGenerics()) {
			Class<?> resolved = generic.resolve(Object.class);
			boolean asynchronous = Future.class.isAssignableFrom(resolved)
					|| CompletionStage.class.isAssignableFrom(resolved) || AsyncResult.isReactive(resolved)
					|| Stream.of(generic.getGenerics())
						.anyMatch((element) -> AsyncResult.isReactive(element.resolve(Object.class)));
			if (asynchronous) {
				throw refusal(name,
						"its type contains " + resolved.getSimpleName()
								+ ", so that it does not process a record on the thread of the consumer",
						"Receive the payload or a Message of it, and return the result itself.");
			}
		}
		if (containsMessage(type.getGeneric(1))) {
			throw refusal(name, "it returns a Message, whose headers belong to the first delivery only",
					"Return the payload.");
		}
	}

	private static boolean containsMessage(ResolvableType type) {
		return Message.class.isAssignableFrom(type.resolve(Object.class))
				|| (type.isArray() && containsMessage(type.getComponentType()))
				|| Stream.of(type.getGenerics()).anyMatch(FunctionProtection::containsMessage);
	}

	private static @Nullable Type result(Object bean, ResolvableType type) {
		if (!(bean instanceof Function<?, ?>)) {
			return null;
		}
		ResolvableType result = type.getGeneric(1);
		Class<?> resolved = result.resolve();
		if (resolved == null) {
			return Object.class;
		}
		return (resolved != Void.class) ? result.getType() : null;
	}

	private static IdempotencyConfigurationException refusal(String name, String reason, String action) {
		return new IdempotencyConfigurationException(
				"The idempotent function " + name + " cannot be protected: " + reason + ".", action);
	}

}
