package dev.idempotency.actuate;

import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;

import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.store.IdempotencyRecords.Change;
import dev.idempotency.store.OffsetMarks;
import dev.idempotency.store.OffsetMarks.StoredMark;
import dev.idempotency.template.IdempotencyAdmin;

/**
 * {@link Endpoint @Endpoint} that lists the marks of listeners whose records are
 * recognized {@linkplain MissingKeyPolicy#OFFSET by their offsets}, and lowers them. Read
 * operations are allowed by default, write operations only with
 * {@code management.endpoint.idempotencyoffsets.access} set to {@code unrestricted}.
 *
 * @since 0.1.0
 */
@Endpoint(id = "idempotencyoffsets", defaultAccess = Access.READ_ONLY)
public final class OffsetsEndpoint {

	private static final int LIMIT = 1000;

	private static final int MAX_LIMIT = 10_000;

	private final Map<String, IdempotencyAdmin> admins;

	/**
	 * Create an endpoint.
	 * @param admins the administrations of the stores by their names, the default store
	 * first
	 */
	public OffsetsEndpoint(Map<String, IdempotencyAdmin> admins) {
		this.admins = admins;
	}

	/**
	 * List the marks.
	 * @param limit the largest number of marks of each store, 1 to 10000, 1000 by default
	 * @return the marks
	 */
	@ReadOperation
	public MarkList marks(@Nullable Integer limit) {
		int size = (limit != null) ? limit : LIMIT;
		if (size < 1 || size > MAX_LIMIT) {
			throw new IllegalArgumentException("'limit' is " + size + ". Set it to a value from 1 to " + MAX_LIMIT);
		}
		Map<String, List<MarkDescriptor>> stores = new LinkedHashMap<>();
		this.admins
			.forEach((name, admin) -> admin.offsetMarks().ifPresent((marks) -> stores.put(name, list(marks, size))));
		return new MarkList(stores);
	}

	private static List<MarkDescriptor> list(OffsetMarks marks, int limit) {
		return marks.list(limit).stream().map(MarkDescriptor::of).toList();
	}

	/**
	 * Lower the mark of a partition, so that its records are processed again. Stop the
	 * listeners of the scope before, in all instances: a running listener raises the mark
	 * again with its next record.
	 * @param scope the scope
	 * @param topic the topic
	 * @param partition the partition
	 * @param next the offset of the first record to process again; 0 deletes the mark
	 * @param store the name of the store, by default the first one
	 * @return the outcome
	 */
	@WriteOperation
	public MarkLowered lower(String scope, String topic, int partition, long next, @Nullable String store) {
		return lower(scope, topic, partition, next, store, null);
	}

	MarkLowered lower(String scope, String topic, int partition, long next, @Nullable String store,
			@Nullable String requestedBy) {
		if (next < 0 || partition < 0) {
			throw new IllegalArgumentException("'next' and 'partition' must not be negative");
		}
		IdempotencyAdmin admin = (store != null) ? this.admins.get(store) : this.admins.values().iterator().next();
		if (admin == null) {
			throw new IllegalArgumentException(
					"There is no store '" + store + "'. The stores are " + this.admins.keySet());
		}
		boolean done = admin.lowerMark(scope, topic, partition, next, requestedBy);
		return new MarkLowered(scope, topic, partition, next, done ? Change.DONE : Change.ABSENT);
	}

	/**
	 * Description of the marks.
	 *
	 * @param stores the marks of each store that has some, by the name of the store
	 */
	public record MarkList(Map<String, List<MarkDescriptor>> stores) {

	}

	/**
	 * Description of a mark.
	 *
	 * @param scope the scope of the listener
	 * @param topic the topic
	 * @param topicId the id of the topic. Marks with the id of a deleted topic have no
	 * effect
	 * @param partition the partition
	 * @param offset the offset of the last processed record
	 * @param updatedAt the time at which the mark was raised last
	 */
	public record MarkDescriptor(String scope, String topic, String topicId, int partition, long offset,
			Instant updatedAt) {

		static MarkDescriptor of(StoredMark mark) {
			return new MarkDescriptor(mark.scope(), mark.topic(), mark.topicId().toString(), mark.partition(),
					mark.offset(), mark.updatedAt());
		}

	}

	/**
	 * Description of the outcome of a change.
	 *
	 * @param scope the scope
	 * @param topic the topic
	 * @param partition the partition
	 * @param next the offset of the first record to process again
	 * @param outcome {@link Change#DONE}, or {@link Change#ABSENT} if there is no mark or
	 * it is lower
	 */
	public record MarkLowered(String scope, String topic, int partition, long next, Change outcome) {

	}

}
