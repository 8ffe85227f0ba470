package dev.idempotency.listener;

import java.lang.reflect.Method;

import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.listener.MessageListenerContainer;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * Names who processes a record, where the annotation does not.
 */
final class ListenerScope {

	private ListenerScope() {
	}

	// The group of the main container: those of retry topics may have a suffix, and are
	// registered after it.
	static String of(Method method, Class<?> targetClass, MessageListenerContainer container,
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

}
