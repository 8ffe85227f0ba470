package dev.idempotency.autoconfigure;

import java.lang.reflect.Field;

import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.ExecutableMode;
import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * Registers the resources and methods that the library accesses by name.
 */
final class IdempotencyRuntimeHints implements RuntimeHintsRegistrar {

	private static final String CONSUMER = "org.springframework.kafka.listener.KafkaMessageListenerContainer$ListenerConsumer";

	@Override
	public void registerHints(RuntimeHints hints, @Nullable ClassLoader classLoader) {
		hints.resources().registerPattern("dev/idempotency/jdbc/*/*.sql");
		invocable(hints, classLoader, "org.springframework.orm.jpa.JpaTransactionManager", "getDataSource");
		invocable(hints, classLoader, "io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException",
				"getStatus");
		invocable(hints, classLoader, "org.springframework.kafka.listener.adapter.AbstractFilteringMessageListener",
				"getRecordFilterStrategy");
		invocable(hints, classLoader, CONSUMER, "callbackForAsyncFailure");
		invocable(hints, classLoader, CONSUMER, "removeOffsetsInBatch");
		// The start looks for methods that the application overrides. The types of the
		// application's beans are registered by Spring.
		queryable(hints, classLoader, "org.springframework.kafka.listener.DefaultErrorHandler");
		queryable(hints, classLoader, "org.springframework.kafka.listener.CommonContainerStoppingErrorHandler");
		queryable(hints, classLoader, "org.springframework.kafka.listener.CommonLoggingErrorHandler");
		queryable(hints, classLoader, "org.springframework.kafka.listener.CommonErrorHandler");
		queryable(hints, classLoader, "org.springframework.kafka.listener.adapter.RecordFilterStrategy");
		// Kafka's clients create these by their classes.
		hints.reflection()
			.registerTypeIfPresent(classLoader, "dev.idempotency.listener.PolledRecordsInterceptor",
					MemberCategory.INVOKE_PUBLIC_CONSTRUCTORS)
			.registerTypeIfPresent(classLoader, "dev.idempotency.producer.IdempotencyKeyInterceptor",
					MemberCategory.INVOKE_PUBLIC_CONSTRUCTORS);
		accessible(hints, classLoader, CONSUMER, "offsetsInThisBatch");
		accessible(hints, classLoader, CONSUMER, "consumerPaused");
		accessible(hints, classLoader, CONSUMER, "pausedForAsyncAcks");
		accessible(hints, classLoader, "org.springframework.kafka.listener.AbstractMessageListenerContainer",
				"pauseRequestedPartitions");
		accessible(hints, classLoader, "org.springframework.integration.kafka.inbound.KafkaMessageDrivenChannelAdapter",
				"retryTemplate");
	}

	private static void accessible(RuntimeHints hints, @Nullable ClassLoader classLoader, String type, String name) {
		Field field = ClassUtils.isPresent(type, classLoader)
				? ReflectionUtils.findField(ClassUtils.resolveClassName(type, classLoader), name) : null;
		if (field != null) {
			hints.reflection().registerField(field);
		}
	}

	private static void queryable(RuntimeHints hints, @Nullable ClassLoader classLoader, String type) {
		Class<?> known = ClassUtils.isPresent(type, classLoader) ? ClassUtils.resolveClassName(type, classLoader)
				: null;
		for (Class<?> level = known; level != null && level != Object.class; level = level.getSuperclass()) {
			hints.reflection().registerType(level);
		}
	}

	private static void invocable(RuntimeHints hints, @Nullable ClassLoader classLoader, String type, String method) {
		if (ClassUtils.isPresent(type, classLoader)) {
			Class<?> known = ClassUtils.resolveClassName(type, classLoader);
			ReflectionUtils.doWithMethods(known,
					(candidate) -> hints.reflection().registerMethod(candidate, ExecutableMode.INVOKE),
					(candidate) -> candidate.getName().equals(method));
		}
	}

}
