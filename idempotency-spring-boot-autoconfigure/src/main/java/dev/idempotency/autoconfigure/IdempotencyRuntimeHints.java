package dev.idempotency.autoconfigure;

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

	@Override
	public void registerHints(RuntimeHints hints, @Nullable ClassLoader classLoader) {
		hints.resources().registerPattern("dev/idempotency/jdbc/*/*.sql");
		invocable(hints, classLoader, "org.springframework.orm.jpa.JpaTransactionManager", "getDataSource");
		invocable(hints, classLoader, "io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException",
				"getStatus");
		// Kafka's clients create these by their classes.
		hints.reflection()
			.registerTypeIfPresent(classLoader, "dev.idempotency.listener.delivery.PolledRecordsInterceptor",
					MemberCategory.INVOKE_PUBLIC_CONSTRUCTORS)
			.registerTypeIfPresent(classLoader, "dev.idempotency.producer.IdempotencyKeyInterceptor",
					MemberCategory.INVOKE_PUBLIC_CONSTRUCTORS);
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
