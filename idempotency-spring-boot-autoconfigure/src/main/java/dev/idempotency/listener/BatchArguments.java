package dev.idempotency.listener;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.util.Assert;

/**
 * The arguments of a batch listener, which go together: a record that the method is not
 * to get is taken out of all of them.
 */
final class BatchArguments {

	private BatchArguments() {
	}

	/**
	 * Make sure that lists of arguments are about the delivered records.
	 * @param arguments the arguments
	 * @param delivered how many records were delivered
	 */
	static void check(@Nullable Object[] arguments, int delivered) {
		for (Object argument : arguments) {
			int size = (argument instanceof List<?> list) ? list.size()
					: (argument instanceof ConsumerRecords<?, ?> records) ? records.count() : delivered;
			Assert.state(size == delivered, () -> "A batch of " + delivered + " records has an argument with " + size
					+ " elements, so they cannot be told apart; let filters and converters keep the records");
		}
	}

	/**
	 * Keep some records.
	 * @param arguments the arguments
	 * @param kept the indexes of the records that are kept
	 * @param delivered how many records there are
	 * @param acknowledgment what takes the place of the acknowledgment
	 * @return the arguments of the call
	 */
	static @Nullable Object[] keep(@Nullable Object[] arguments, List<Integer> kept, int delivered,
			@Nullable Acknowledgment acknowledgment) {
		@Nullable Object[] filtered = arguments.clone();
		for (int i = 0; i < arguments.length; i++) {
			if (arguments[i] instanceof Acknowledgment && acknowledgment != null) {
				filtered[i] = acknowledgment;
			}
			else {
				// Lists are copied in any case: the method may change them.
				filtered[i] = keep(arguments[i], kept, delivered);
			}
		}
		return filtered;
	}

	private static @Nullable Object keep(@Nullable Object argument, List<Integer> kept, int delivered) {
		if (argument instanceof List<?> list) {
			List<@Nullable Object> some = new ArrayList<>(kept.size());
			kept.forEach((index) -> some.add(list.get(index)));
			return some;
		}
		return (argument instanceof ConsumerRecords<?, ?> records && kept.size() < delivered) ? records(records, kept)
				: argument;
	}

	private static <K, V> ConsumerRecords<K, V> records(ConsumerRecords<K, V> records, List<Integer> kept) {
		Set<Integer> indexes = new HashSet<>(kept);
		Map<TopicPartition, List<ConsumerRecord<K, V>>> some = new LinkedHashMap<>();
		int index = 0;
		for (ConsumerRecord<K, V> record : records) {
			if (indexes.contains(index++)) {
				some.computeIfAbsent(new TopicPartition(record.topic(), record.partition()), (key) -> new ArrayList<>())
					.add(record);
			}
		}
		return new ConsumerRecords<>(some, Map.of());
	}

}
