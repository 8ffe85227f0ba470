package dev.idempotency.actuate;

import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;

import dev.idempotency.BlockedPolicy;
import dev.idempotency.store.ParkedRecords;
import dev.idempotency.store.ParkedRecords.StoredRecord;
import dev.idempotency.store.ParkedRecords.Summary;
import dev.idempotency.template.IdempotencyAdmin;

/**
 * {@link Endpoint @Endpoint} that lists the records that listeners with
 * {@link BlockedPolicy#PARK} have parked. It shows neither message keys nor values.
 *
 * @since 0.1.0
 */
@Endpoint(id = "idempotencyparked", defaultAccess = Access.READ_ONLY)
public final class ParkedEndpoint {

	private static final int LIMIT = 100;

	private static final int MAX_LIMIT = 10_000;

	private final Map<String, IdempotencyAdmin> admins;

	/**
	 * Create an endpoint.
	 * @param admins the administrations of the stores by their names
	 */
	public ParkedEndpoint(Map<String, IdempotencyAdmin> admins) {
		this.admins = admins;
	}

	/**
	 * List the parked records.
	 * @param limit the largest number of records of each store, 1 to 10000, 100 by
	 * default
	 * @return the records
	 */
	@ReadOperation
	public ParkedList parked(@Nullable Integer limit) {
		int size = (limit != null) ? limit : LIMIT;
		if (size < 1 || size > MAX_LIMIT) {
			String reason = "'limit' is " + size + ". Set it to a value from 1 to " + MAX_LIMIT;
			throw new InvalidEndpointRequestException(reason, reason);
		}
		Map<String, ParkedDescriptor> stores = new LinkedHashMap<>();
		this.admins.forEach((name, admin) -> admin.parkedRecords()
			.filter((parked) -> parked.problem() == null)
			.ifPresent((parked) -> stores.put(name, ParkedDescriptor.of(parked, size))));
		return new ParkedList(stores);
	}

	/**
	 * Description of the parked records.
	 *
	 * @param stores the parked records of each store that can park, by the name of the
	 * store
	 */
	public record ParkedList(Map<String, ParkedDescriptor> stores) {

	}

	/**
	 * Description of the parked records of a store.
	 *
	 * @param scopes the number of records of each scope
	 * @param records the first records
	 */
	public record ParkedDescriptor(List<ScopeDescriptor> scopes, List<RecordDescriptor> records) {

		static ParkedDescriptor of(ParkedRecords parked, int limit) {
			return new ParkedDescriptor(parked.summaries().stream().map(ScopeDescriptor::of).toList(),
					parked.list(limit).stream().map(RecordDescriptor::of).toList());
		}

	}

	/**
	 * Description of the parked records of a scope.
	 *
	 * @param scope the scope
	 * @param records their number
	 * @param oldest the time at which the oldest of them was parked
	 */
	public record ScopeDescriptor(String scope, long records, Instant oldest) {

		static ScopeDescriptor of(Summary summary) {
			return new ScopeDescriptor(summary.scope(), summary.records(), summary.oldest());
		}

	}

	/**
	 * Description of a parked record.
	 *
	 * @param scope the scope
	 * @param topic the topic
	 * @param partition the partition
	 * @param offset the offset
	 * @param attempts how often it was tried to process the record
	 * @param parkedAt the time at which it was parked
	 */
	public record RecordDescriptor(String scope, String topic, int partition, long offset, int attempts,
			Instant parkedAt) {

		static RecordDescriptor of(StoredRecord record) {
			return new RecordDescriptor(record.scope(), record.topic(), record.partition(), record.offset(),
					record.attempts(), record.parkedAt());
		}

	}

}
