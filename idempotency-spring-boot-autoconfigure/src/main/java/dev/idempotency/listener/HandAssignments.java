package dev.idempotency.listener;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.support.TopicPartitionOffset;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.listener.key.ListenerScope;

/**
 * Finds listeners that get the same records under one default scope. Kafka delivers a
 * record of a subscription to one consumer of the group, but each consumer gets the
 * partitions that are assigned to it by hand.
 */
final class HandAssignments {

	private static final Log logger = LogFactory.getLog(HandAssignments.class);

	private final List<Reader> readers = new ArrayList<>();

	/**
	 * Add the listeners of a main endpoint, whose container is about to be registered.
	 * @param added the listeners
	 * @throws IdempotencyConfigurationException if another one gets the same records
	 * under the same default scope
	 */
	synchronized void add(List<Reader> added) {
		this.readers.removeIf((other) -> !other.isRegistered());
		added.forEach((reader) -> {
			this.readers.forEach((other) -> check(reader, other));
			if (reader.isAssigned() && !reader.scope.isExplicit()) {
				warn(reader);
			}
		});
		this.readers.addAll(added);
	}

	private static void check(Reader reader, Reader other) {
		String shared = other.scope.isSameDefault(reader.scope) ? reader.shared(other) : null;
		if (shared != null) {
			throw new IdempotencyConfigurationException(
					"The idempotent listeners " + reader.name + " and " + other.name + " both get the records of "
							+ shared + ", which is assigned by hand, and have the same default scope " + reader.scope
							+ ": a record that one has processed would never be processed by the other.",
					"Set 'scope' of @Idempotent to a different text on each, or let one of them read the partition.");
		}
	}

	private static void warn(Reader reader) {
		logger.warn("The partitions of the idempotent listener " + reader.name + " are assigned by hand, and its scope "
				+ reader.scope + " is that of every instance of the application that assigns the same partitions: a "
				+ "record that one instance has processed is a duplicate for the others. Set 'scope' of @Idempotent to "
				+ "a text of its own for each instance, unless they are meant to share it");
	}

	/**
	 * A listener of a main endpoint.
	 *
	 * @param name its name
	 * @param scope its scope
	 * @param container its container
	 * @param registered looks up the registered container of the same id
	 */
	record Reader(String name, ListenerScope scope, MessageListenerContainer container,
			Supplier<@Nullable MessageListenerContainer> registered) {

		private boolean isRegistered() {
			return this.registered.get() == this.container;
		}

		private boolean isAssigned() {
			return this.container.getContainerProperties().getTopicPartitions() != null;
		}

		private @Nullable String shared(Reader other) {
			if (!isAssigned()) {
				return other.isAssigned() ? other.shared(this) : null;
			}
			return partitions().stream()
				.filter(other::gets)
				.findFirst()
				.map((partition) -> "partition " + partition.partition() + " of the topic '" + partition.topic() + "'")
				.orElse(null);
		}

		private boolean gets(TopicPartition partition) {
			ContainerProperties properties = this.container.getContainerProperties();
			if (isAssigned()) {
				return partitions().contains(partition);
			}
			String[] topics = properties.getTopics();
			Pattern pattern = properties.getTopicPattern();
			return (topics != null) ? List.of(topics).contains(partition.topic())
					: pattern != null && pattern.matcher(partition.topic()).matches();
		}

		private Set<TopicPartition> partitions() {
			TopicPartitionOffset[] assigned = this.container.getContainerProperties().getTopicPartitions();
			Set<TopicPartition> partitions = new LinkedHashSet<>();
			if (assigned != null) {
				Stream.of(assigned).map(TopicPartitionOffset::getTopicPartition).forEach(partitions::add);
			}
			return partitions;
		}

	}

}
