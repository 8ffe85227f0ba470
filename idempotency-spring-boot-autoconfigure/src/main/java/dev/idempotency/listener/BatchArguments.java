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
 * Removes records from the arguments of a batch listener, which contain an element for
 * each record.
 */
final class BatchArguments {

	private BatchArguments() {
	}

	/**
	 * Check that each list among the arguments has one element per delivered record.
	 * @param arguments the arguments
	 * @param delivered the number of delivered records
	 */
	static void check(@Nullable Object[] arguments, int delivered) {
		for (Object argument : arguments) {
			int size = (argument instanceof List<?> list) ? list.size()
					: (argument instanceof ConsumerRecords<?, ?> records) ? records.count() : delivered;
			Assert.state(size == delivered,
					() -> "A batch listener received " + delivered + " records, but an argument with " + size
							+ " elements. Configure filters and converters to keep the number of records");
		}
	}

	/**
	 * Keep only some records.
	 * @param arguments the arguments
	 * @param kept the indexes of the records to keep
	 * @param delivered the number of delivered records
	 * @param acknowledgment replaces the acknowledgment, unless {@code null}
	 * @return the arguments to call the method with
	 */
	static @Nullable Object[] keep(@Nullable Object[] arguments, List<Integer> kept, int delivered,
			@Nullable Acknowledgment acknowledgment) {
		@Nullable Object[] filtered = arguments.clone();
		for (int i = 0; i < arguments.length; i++) {
			if (arguments[i] instanceof Acknowledgment && acknowledgment != null) {
				filtered[i] = acknowledgment;
			}
			else {
				// Lists are always copied, because the method may change them.
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
