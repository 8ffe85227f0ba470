package dev.idempotency.actuate;

import java.util.function.Function;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.Show;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.actuate.Descriptors.Changed;
import dev.idempotency.actuate.Descriptors.Overview;
import dev.idempotency.actuate.Descriptors.RecordDescriptor;
import dev.idempotency.actuate.Descriptors.RecordList;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.store.IdempotencyRecords.Change;
import dev.idempotency.template.IdempotencyOperator;

/**
 * What people may see of the records of this application, and do to them. Reading is
 * allowed by default, writing with {@code management.endpoint.idempotency.access} set to
 * {@code unrestricted}.
 *
 * @since 0.1.0
 */
@Endpoint(id = "idempotency", defaultAccess = Access.READ_ONLY)
public final class IdempotencyEndpoint {

	private static final int LIMIT = 100;

	private static final int MAX_LIMIT = 1000;

	private final IdempotencyOperator operator;

	private final Show showValues;

	/**
	 * Create an endpoint.
	 * @param operator what may be seen and done
	 * @param showValues when messages of errors and results are shown
	 */
	public IdempotencyEndpoint(IdempotencyOperator operator, Show showValues) {
		this.operator = operator;
		this.showValues = showValues;
	}

	/**
	 * Count the records of each scope.
	 * @return the counts
	 */
	@ReadOperation
	public Overview overview() {
		return Overview.of(this.operator, records().overview());
	}

	/**
	 * Look at records.
	 * @param view {@code record}, {@code stuck} or {@code failed}
	 * @param scope of a record, its scope
	 * @param key of a record, its key
	 * @param limit of a list, how many records it has at most
	 * @param after of a list, where an earlier one has ended
	 * @return what is to be seen, {@code null} if there is nothing
	 */
	@ReadOperation
	public @Nullable Object view(@Selector String view, @Nullable String scope, @Nullable String key,
			@Nullable Integer limit, @Nullable String after) {
		return view(view, scope, key, limit, after, this.showValues.isShown(true));
	}

	@Nullable Object view(String view, @Nullable String scope, @Nullable String key, @Nullable Integer limit,
			@Nullable String after, boolean values) {
		return switch (view) {
			case "record" -> record(key(scope, key), values);
			case "stuck" -> RecordList.stuck(this.operator, page(limit, after, IdempotencyRecords::stuck), values);
			case "failed" -> RecordList.failed(page(limit, after, IdempotencyRecords::failed), values);
			default -> null;
		};
	}

	private @Nullable Object record(IdempotencyKey key, boolean values) {
		IdempotencyRecord record = this.operator.store().find(key).orElse(null);
		if (record == null) {
			return null;
		}
		byte[] result = values ? this.operator.records().flatMap((records) -> records.result(key)).orElse(null) : null;
		return RecordDescriptor.of(record, this.operator, values, result);
	}

	private IdempotencyRecords.Page page(@Nullable Integer limit, @Nullable String after, Listing listing) {
		int size = (limit != null) ? limit : LIMIT;
		if (size < 1 || size > MAX_LIMIT) {
			throw new IllegalArgumentException("'limit' is " + size + "; 1 to " + MAX_LIMIT + " can be listed at once");
		}
		return listing.of(records(), size, after);
	}

	/**
	 * Change something.
	 * @param action {@code release} or {@code evict}
	 * @param scope the scope
	 * @param key the key
	 * @param force whether to change a claim that is alive
	 * @return what came of it, {@code null} if there is nothing to change
	 */
	@WriteOperation
	public @Nullable Object change(@Selector String action, String scope, @Nullable String key,
			@Nullable Boolean force) {
		return change(action, scope, key, force, null);
	}

	@Nullable Object change(String action, String scope, @Nullable String key, @Nullable Boolean force, @Nullable String who) {
		boolean forced = Boolean.TRUE.equals(force);
		return switch (action) {
			case "release" -> changed(key(scope, key), (id) -> this.operator.release(id, forced, who));
			case "evict" -> changed(key(scope, key), (id) -> this.operator.evict(id, forced, who));
			default -> null;
		};
	}

	private Changed changed(IdempotencyKey key, Function<IdempotencyKey, Change> action) {
		records();
		return new Changed(key.scope(), key.value(), action.apply(key));
	}

	private IdempotencyRecords records() {
		return this.operator.records()
			.orElseThrow(() -> new UnsupportedOperationException("The idempotency store '"
					+ this.operator.store().name() + "' has no IdempotencyRecords; only 'record' works with it"));
	}

	private static IdempotencyKey key(@Nullable String scope, @Nullable String key) {
		if (scope == null || key == null) {
			throw new IllegalArgumentException("'scope' and 'key' are needed");
		}
		return IdempotencyKey.of(scope, key);
	}

	/**
	 * A list of records.
	 */
	private interface Listing {

		IdempotencyRecords.Page of(IdempotencyRecords records, int limit, @Nullable String after);

	}

}
