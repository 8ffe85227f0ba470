package dev.idempotency.listener;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Objects;
import java.util.Set;

import org.apache.kafka.clients.consumer.Consumer;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.config.AbstractKafkaListenerContainerFactory;
import org.springframework.kafka.config.KafkaListenerContainerFactory;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.ContainerProperties.AckMode;
import org.springframework.kafka.listener.MessageListenerContainer;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.listener.error.BlockedRecordHandling;
import dev.idempotency.listener.key.ListenerScope;
import dev.idempotency.listener.parked.Parking;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.ParkedRecords;
import dev.idempotency.store.ParkedRecords.Summary;

/**
 * Rejects listeners whose blocked records cannot be parked, and listeners that would
 * leave parked records behind.
 */
final class ParkingChecks {

	private static final Set<AckMode> ACK_MODES = Set.of(AckMode.RECORD, AckMode.BATCH);

	private ParkingChecks() {
	}

	/**
	 * Check a listener whose blocked records are parked.
	 */
	static ParkedRecords check(String listener, Method method, ListenerShape shape, MessageListenerContainer container,
			KafkaListenerContainerFactory<?> factory, boolean main, IdempotencyStore store) {
		ParkedRecords parked = store.parkedRecords().orElse(null);
		String problem = methodProblem(method, shape);
		if (problem == null) {
			problem = containerProblem(container, factory, main);
		}
		if (problem == null) {
			problem = (parked != null) ? parked.problem()
					: "its store is '" + store.name() + "', and only the JDBC store parks records";
		}
		if (problem != null || parked == null) {
			throw refused(listener,
					Character.toLowerCase(String.valueOf(problem).charAt(0)) + String.valueOf(problem).substring(1));
		}
		return parked;
	}

	/**
	 * Check the methods of a class, whose records are parked together: the method that
	 * receives a record is not known when the record is parked.
	 */
	static void checkSame(Parking.Settings parking, ListenerScope scope, ParkedRecords store) {
		if (parking.store() != store || !Objects.equals(parking.explicitScope(), scope.explicitName())) {
			throw refused(parking.name(), "the methods of its class have different scopes or stores");
		}
	}

	/**
	 * Check that the methods of a class have the same policy.
	 */
	static void checkAllPark(Parking.Settings parking, boolean all) {
		if (!all) {
			throw refused(parking.name(), "not all methods of its class do so");
		}
	}

	private static IdempotencyConfigurationException refused(String listener, String problem) {
		return new IdempotencyConfigurationException(
				"The idempotent listener " + listener + " is to park blocked records, but " + problem + ".",
				"Set 'blocked' of @Idempotent to PAUSE, or remove the cause.");
	}

	private static @Nullable String methodProblem(Method method, ListenerShape shape) {
		if (shape.batch()) {
			return "it receives batches";
		}
		if (shape.async() != null) {
			return "its method is asynchronous";
		}
		if (shape.kafkaTransaction()) {
			return "its container has a Kafka transaction, in which parked records would not be processed";
		}
		if (Arrays.stream(method.getParameterTypes()).anyMatch(Consumer.class::isAssignableFrom)) {
			return "its method has a parameter of the type Consumer, which belongs to another thread than that of the "
					+ "parked records";
		}
		return null;
	}

	private static @Nullable String containerProblem(MessageListenerContainer container,
			KafkaListenerContainerFactory<?> factory, boolean main) {
		ContainerProperties properties = container.getContainerProperties();
		if (!main) {
			return "it has a retry topic, whose records are processed after later ones";
		}
		if (!ACK_MODES.contains(properties.getAckMode())) {
			return "the ack mode of its container is " + properties.getAckMode() + " instead of BATCH or RECORD";
		}
		if (properties.getTopicPartitions() != null) {
			return "its partitions are assigned by hand, so that several instances may read them";
		}
		if (properties.getAdviceChain().length > 0) {
			return "its container has an advice chain, which parked records would not pass";
		}
		if (!(factory instanceof AbstractKafkaListenerContainerFactory<?, ?, ?> known)
				|| known.getConsumerFactory() == null) {
			return "its container comes from a factory that does not tell its consumer factory, as that of a retry topic";
		}
		String handler = BlockedRecordHandling.applicationHandlerProblem(container);
		return (handler != null) ? "the error handler of its container " + handler : null;
	}

	/**
	 * Check that no parked records of an earlier configuration are left, which nothing
	 * would process.
	 */
	static void checkNoneLeft(String listener, ListenerScope scope, MessageListenerContainer container,
			IdempotencyStore store) {
		ParkedRecords parked = store.parkedRecords().orElse(null);
		if (parked == null || parked.problem() != null) {
			return;
		}
		for (Summary summary : parked.summaries()) {
			if (includes(summary.scope(), scope, container)) {
				throw new IdempotencyConfigurationException(
						"The idempotent listener " + listener + " does not park blocked records, but "
								+ summary.records() + " records of the scope '" + summary.scope()
								+ "' are parked, which it would not process.",
						"Set 'blocked' of @Idempotent to PARK until they are processed.");
			}
		}
	}

	private static boolean includes(String stored, ListenerScope scope, MessageListenerContainer container) {
		if (scope.explicitName() != null) {
			return stored.equals(scope.explicitName());
		}
		String prefix = container.getGroupId() + "/";
		if (!stored.startsWith(prefix)) {
			return false;
		}
		String topic = stored.substring(prefix.length());
		ContainerProperties properties = container.getContainerProperties();
		return (properties.getTopicPattern() != null) ? properties.getTopicPattern().matcher(topic).matches()
				: ListenerScope.topics(properties).contains(topic);
	}

}
