package dev.idempotency.listener;

import java.lang.reflect.Method;
import java.lang.reflect.Type;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.jspecify.annotations.Nullable;
import org.springframework.core.MethodParameter;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.core.ResolvableType;
import org.springframework.kafka.listener.ContainerProperties.AckMode;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.listener.adapter.FilteringBatchMessageListenerAdapter;
import org.springframework.kafka.listener.adapter.RecordFilterStrategy;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.kafka.support.KafkaHeaders;
import org.springframework.messaging.Message;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.util.ReflectionUtils;

import dev.idempotency.listener.ListenerChecks.Problem;

/**
 * Which signatures can be protected.
 */
final class ShapeChecks {

	private ShapeChecks() {
	}

	static @Nullable Problem problem(Method method, Class<?> targetClass, ListenerShape shape,
			MessageListenerContainer container) {
		if (shape.kafkaTransaction() && !(container.getContainerProperties()
			.getKafkaAwareTransactionManager() instanceof ConfigurableTransactionManager)) {
			return new Problem("the Kafka transaction manager of its container tells nobody when it commits",
					"Use Spring Kafka's KafkaTransactionManager.");
		}
		if (shape.kafkaTransaction() && container.getContainerProperties().getAckMode() == AckMode.MANUAL_IMMEDIATE) {
			return new Problem(
					"its container has a Kafka transaction and the ack mode MANUAL_IMMEDIATE, in which the key of a "
							+ "record that the method does not acknowledge would be completed all the same",
					"Set the ack mode to BATCH or RECORD, or use a container factory without a Kafka transaction "
							+ "manager.");
		}
		Problem problem = resultProblem(method, targetClass, shape);
		if (problem == null && shape.async() != null) {
			problem = asyncProblem(shape);
		}
		return (problem == null && shape.batch()) ? batchProblem(method, container) : problem;
	}

	private static @Nullable Problem resultProblem(Method method, Class<?> targetClass, ListenerShape shape) {
		Class<?> type = method.getReturnType();
		if (shape.async() == null && (Future.class.isAssignableFrom(type)
				|| CompletionStage.class.isAssignableFrom(type) || isReactive(type))) {
			return new Problem("it returns a " + type.getSimpleName() + ", which Spring Kafka does not wait for",
					"Return a CompletableFuture or a Mono.");
		}
		Type result = (shape.batch() && !List.class.isAssignableFrom(type)) ? null
				: shape.resultType(method, targetClass);
		if (result != null && Message.class.isAssignableFrom(ResolvableType.forType(result).resolve(Object.class))) {
			return new Problem("it returns a Message, whose headers belong to the first delivery only",
					"Return the payload; the reply gets the current correlation id by itself.");
		}
		return null;
	}

	private static boolean isReactive(Class<?> type) {
		return ReactiveAdapterRegistry.getSharedInstance().hasAdapters()
				&& ReactiveAdapterRegistry.getSharedInstance().getAdapter(type) != null;
	}

	private static @Nullable Problem asyncProblem(ListenerShape shape) {
		if (shape.batch()) {
			return new Problem(
					"it is an asynchronous batch listener, whose batch Spring Kafka acknowledges also when "
							+ "it fails",
					"Return the results themselves, or set 'batch' of @KafkaListener to \"false\".");
		}
		return shape.kafkaTransaction() ? new Problem(
				"it is asynchronous, but its container has a Kafka transaction, which ends when the method returns",
				"Return the result itself, or use a container factory without a Kafka transaction manager.") : null;
	}

	private static @Nullable Problem batchProblem(Method method, MessageListenerContainer container) {
		if (method.getReturnType() != void.class && method.getReturnType() != List.class) {
			return new Problem(
					"it is a batch listener that returns a " + method.getReturnType().getSimpleName()
							+ ", which cannot be told apart by record",
					"Return a List with one element for each record, or nothing.");
		}
		boolean records = false;
		for (int i = 0; i < method.getParameterCount(); i++) {
			MethodParameter parameter = new MethodParameter(method, i);
			Class<?> type = parameter.getParameterType();
			records |= type == ConsumerRecords.class || type == List.class;
			if (!isAllowed(parameter)) {
				return new Problem(
						"it is a batch listener with a parameter of type " + type.getSimpleName()
								+ ", from which single records cannot be taken out",
						"Use List parameters (also for headers), ConsumerRecords, Acknowledgment and Consumer.");
			}
		}
		if (!records) {
			return new Problem("its container delivers batches, but the method takes single records",
					"Set 'batch' of @KafkaListener to \"false\", or take a List.");
		}
		return hasOwnFilter(container) ? new Problem(
				"the RecordFilterStrategy of its container filters batches in its own way, so the remaining records "
						+ "cannot be told apart",
				"Do not override filterBatch, or filter in 'condition' of @Idempotent.") : null;
	}

	private static boolean isAllowed(MethodParameter parameter) {
		Class<?> type = parameter.getParameterType();
		Header header = parameter.getParameterAnnotation(Header.class);
		return type == List.class || type == ConsumerRecords.class || Acknowledgment.class.isAssignableFrom(type)
				|| Consumer.class.isAssignableFrom(type)
				|| (header != null && KafkaHeaders.GROUP_ID.equals(header.value()));
	}

	// The one that Spring Kafka has takes records out of the list that it gets.
	private static boolean hasOwnFilter(MessageListenerContainer container) {
		Object listener = ListenerShape.listener(container);
		if (!(listener instanceof FilteringBatchMessageListenerAdapter<?, ?>)) {
			return false;
		}
		Method accessor = ReflectionUtils.findMethod(listener.getClass(), "getRecordFilterStrategy");
		if (accessor == null) {
			return true;
		}
		ReflectionUtils.makeAccessible(accessor);
		Object strategy = ReflectionUtils.invokeMethod(accessor, listener);
		Method filter = (strategy != null) ? ReflectionUtils.findMethod(strategy.getClass(), "filterBatch", List.class)
				: null;
		return filter != null && filter.getDeclaringClass() != RecordFilterStrategy.class;
	}

}
