package dev.idempotency.listener.parked;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.function.BooleanSupplier;

import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;

import dev.idempotency.store.ParkedPartition;

/**
 * The parked records of a partition that is assigned to a consumer of this process, in
 * the order of each message key. The thread of the consumer adds records, that of the
 * worker removes them. A key leaves the queue only after the store has deleted its last
 * record: the next record of the key is then delivered, and not parked behind it.
 */
final class ParkedQueue {

	private final TopicPartition topicPartition;

	private final ParkedPartition partition;

	private final Thread consumer = Thread.currentThread();

	private final Map<Object, Deque<ParkedEntry>> keys = new LinkedHashMap<>();

	private final Set<UUID> ids = new HashSet<>();

	// The error handler counts the attempts of one record of a partition only, so the
	// worker stays with a record that has failed.
	private @Nullable ParkedEntry failing;

	private volatile UUID owner = UUID.randomUUID();

	private volatile boolean loaded;

	private volatile boolean active = true;

	private volatile int size;

	ParkedQueue(TopicPartition topicPartition, ParkedPartition partition) {
		this.topicPartition = topicPartition;
		this.partition = partition;
	}

	TopicPartition topicPartition() {
		return this.topicPartition;
	}

	ParkedPartition partition() {
		return this.partition;
	}

	UUID owner() {
		return this.owner;
	}

	boolean isOwnedByThisThread() {
		return this.consumer == Thread.currentThread();
	}

	boolean isLoaded() {
		return this.loaded;
	}

	/**
	 * Add the records that are already parked, unless that was done, or the partition is
	 * no longer assigned to the consumer.
	 */
	synchronized void load(Runnable waiting) {
		if (!this.loaded && this.active) {
			waiting.run();
			this.loaded = true;
		}
	}

	/**
	 * Take over the partition again, because a consumer to which it was assigned earlier
	 * has taken it over late. That consumer may have parked records.
	 */
	synchronized void reload() {
		this.owner = UUID.randomUUID();
		this.loaded = false;
	}

	boolean isActive() {
		return this.active;
	}

	/**
	 * End the queue, because its partition is no longer assigned to the consumer.
	 */
	synchronized List<ParkedEntry> deactivate() {
		this.active = false;
		return this.keys.values().stream().flatMap(Deque::stream).toList();
	}

	boolean isEmpty() {
		return this.size == 0;
	}

	synchronized boolean contains(Object key) {
		return this.keys.containsKey(key);
	}

	/**
	 * Park a record behind those with its message key, while none of them is removed.
	 */
	synchronized boolean parkBehind(Object key, BooleanSupplier park) {
		return contains(key) && park.getAsBoolean();
	}

	synchronized boolean contains(UUID id) {
		return this.ids.contains(id);
	}

	/**
	 * Add a record.
	 */
	synchronized boolean add(ParkedEntry entry) {
		if (!this.active || !this.ids.add(entry.id())) {
			return false;
		}
		this.keys.computeIfAbsent(entry.key(), (key) -> new ArrayDeque<>()).add(entry);
		this.size = this.ids.size();
		return true;
	}

	/**
	 * Return the records that may be processed.
	 */
	synchronized List<ParkedEntry> heads() {
		if (this.failing != null) {
			return List.of(this.failing);
		}
		List<ParkedEntry> heads = new ArrayList<>(this.keys.size());
		this.keys.values().forEach((entries) -> heads.add(entries.getFirst()));
		return heads;
	}

	synchronized void failing(ParkedEntry entry) {
		this.failing = entry;
	}

	/**
	 * Return whether a record may be processed before the others.
	 */
	synchronized boolean mayRun(ParkedEntry entry) {
		return this.failing == null || this.failing == entry;
	}

	/**
	 * Remove the first record of a message key.
	 */
	synchronized boolean remove(ParkedEntry entry) {
		Deque<ParkedEntry> entries = Objects.requireNonNull(this.keys.get(entry.key()));
		entries.remove(entry);
		if (entries.isEmpty()) {
			this.keys.remove(entry.key());
		}
		this.failing = null;
		this.ids.remove(entry.id());
		this.size = this.ids.size();
		return this.active;
	}

}
