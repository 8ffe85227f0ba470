package dev.idempotency.actuate;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonInclude.Include;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.Show;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.util.Assert;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyResultUnreadableException;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.store.IdempotencyRecords.Change;
import dev.idempotency.store.IdempotencyRecords.Page;
import dev.idempotency.store.IdempotencyRecords.ScopeCount;
import dev.idempotency.store.IdempotencyRecords.Selection;
import dev.idempotency.template.IdempotencyAdmin;
import dev.idempotency.template.IdempotencyAdmin.BulkEviction;
import dev.idempotency.template.IdempotencyAdmin.StoredOutcome;
import dev.idempotency.template.IdempotencyAdmin.UnrecordedCompletion;
import dev.idempotency.template.StoredOutcomeTransformer;

/**
 * {@link Endpoint @Endpoint} that shows the idempotency records of the application and
 * changes them by hand. Read operations are allowed by default, write operations only
 * with {@code management.endpoint.idempotency.access} set to {@code unrestricted}.
 *
 * @since 0.1.0
 */
@Endpoint(id = "idempotency", defaultAccess = Access.READ_ONLY)
public final class IdempotencyEndpoint {

	private static final int LIMIT = 100;

	private static final int MAX_LIMIT = 1000;

	private static final int MAX_BULK_LIMIT = IdempotencyRecords.WINDOW;

	private final Map<String, IdempotencyAdmin> admins;

	private final Show showValues;

	/**
	 * Create an endpoint for one store.
	 * @param admin the administration of the records
	 * @param showValues when to show error messages and stored results
	 */
	public IdempotencyEndpoint(IdempotencyAdmin admin, Show showValues) {
		this(Map.of(admin.name(), admin), showValues);
	}

	/**
	 * Create an endpoint for several stores.
	 * @param admins the administrations of their records by the names of the stores; the
	 * first store is shown if an operation does not name one
	 * @param showValues when to show error messages and stored results
	 */
	public IdempotencyEndpoint(Map<String, IdempotencyAdmin> admins, Show showValues) {
		this.admins = new LinkedHashMap<>(admins);
		this.showValues = showValues;
	}

	/**
	 * Count the records of each scope.
	 * @param store the name of the store, {@code null} for the first one
	 * @return the counts
	 */
	@ReadOperation
	public OverviewDescriptor overview(@Nullable String store) {
		IdempotencyAdmin admin = admin(store);
		IdempotencyRecords.Overview overview = records(admin).overview();
		return new OverviewDescriptor(admin.name(), (this.admins.size() > 1) ? this.admins.keySet() : null,
				overview.complete(), overview.estimate(), overview.scopes().stream().map(ScopeDescriptor::of).toList(),
				admin.unrecorded().size());
	}

	/**
	 * Show one record or a list of records.
	 * @param view {@code record}, {@code stuck} or {@code failed}
	 * @param scope the scope of the record
	 * @param key the key of the record
	 * @param limit the largest number of records of a list, 1 to 1000, 100 by default
	 * @param after the end of an earlier page of the list
	 * @param store the name of the store, {@code null} for the first one
	 * @return the record or the list, {@code null} if there is none
	 */
	@ReadOperation
	public @Nullable Object view(@Selector String view, @Nullable String scope, @Nullable String key,
			@Nullable Integer limit, @Nullable String after, @Nullable String store) {
		return view(view, scope, key, limit, after, store, this.showValues.isShown(true));
	}

	@Nullable Object view(String view, @Nullable String scope, @Nullable String key, @Nullable Integer limit,
			@Nullable String after, @Nullable String store, boolean values) {
		IdempotencyAdmin admin = admin(store);
		return switch (view) {
			case "record" -> record(admin, key(scope, key), values);
			case "stuck" ->
				RecordList.of(records(admin).stuck(limit(limit, LIMIT, MAX_LIMIT), after), admin.unrecorded(), values);
			case "failed" -> RecordList.of(records(admin).failed(limit(limit, LIMIT, MAX_LIMIT), after), null, values);
			default -> null;
		};
	}

	private static @Nullable Object record(IdempotencyAdmin admin, IdempotencyKey key, boolean values) {
		IdempotencyRecord record = admin.store().find(key).orElse(null);
		if (record == null) {
			return null;
		}
		try {
			StoredOutcome outcome = (record.state() == State.COMPLETED) ? admin.outcome(key).orElse(null) : null;
			return RecordDescriptor.of(record, admin.unrecorded(), values, outcome);
		}
		catch (IdempotencyResultUnreadableException ex) {
			return RecordDescriptor.of(record, admin.unrecorded(), values, null).unreadable();
		}
	}

	// List the completions of this instance that are still to be recorded, without
	// the store.
	RecordList stuckWithoutStore(@Nullable String store, @Nullable String error) {
		return new RecordList(false, null, List.of(), PendingDescriptor.of(admin(store).unrecorded()), error);
	}

	/**
	 * Change one record, or evict a selection of records.
	 * @param action {@code release}, {@code evict} or {@code evict-all}
	 * @param scope the scope of the record or of the selection
	 * @param key the key of the record
	 * @param force whether to change claims that are alive and keys whose completion is
	 * pending in this instance
	 * @param keyPrefix the text with which the keys of the selection begin, all keys by
	 * default
	 * @param createdFrom the earliest creation of the records of the selection
	 * @param createdBefore the time before which the records of the selection were
	 * created
	 * @param dryRun whether to count the records of the selection only; required for
	 * {@code evict-all}
	 * @param limit the number of records of the selection after which to stop, 1 to
	 * 100000, 1000 by default
	 * @param after the end of an earlier call for the selection
	 * @param store the name of the store, {@code null} for the first one
	 * @return the outcome, {@code null} if there is no such action
	 */
	@WriteOperation
	public @Nullable Object change(@Selector String action, @Nullable String scope, @Nullable String key,
			@Nullable Boolean force, @Nullable String keyPrefix, @Nullable OffsetDateTime createdFrom,
			@Nullable OffsetDateTime createdBefore, @Nullable Boolean dryRun, @Nullable Integer limit,
			@Nullable String after, @Nullable String store) {
		return change(action, new Command(scope, key, force, keyPrefix, createdFrom, createdBefore, dryRun, limit,
				after, store, null));
	}

	@Nullable Object change(String action, Command command) {
		IdempotencyAdmin admin = admin(command.store());
		return switch (action) {
			case "release" -> {
				IdempotencyKey key = key(command.scope(), command.key());
				records(admin);
				yield Changed.of(key, admin.release(key, command.isForced(), command.requestedBy()));
			}
			case "evict" -> {
				IdempotencyKey key = key(command.scope(), command.key());
				records(admin);
				yield Changed.of(key, admin.evict(key, command.isForced(), command.requestedBy()));
			}
			case "evict-all" -> evictAll(admin, command);
			default -> null;
		};
	}

	private static Evicted evictAll(IdempotencyAdmin admin, Command command) {
		Selection selection = command.selection();
		int limit = limit(command.limit(), MAX_LIMIT, MAX_BULK_LIMIT);
		records(admin);
		BulkEviction eviction = Boolean.TRUE.equals(command.dryRun())
				? admin.countEvictable(selection, command.isForced(), limit, command.after())
				: admin.evictAll(selection, command.isForced(), limit, command.after(), command.requestedBy());
		return new Evicted(selection.scope(), selection.keyPrefix(), selection.createdFrom(), selection.createdBefore(),
				Boolean.TRUE.equals(command.dryRun()), eviction.records(), eviction.pending(), eviction.complete(),
				eviction.next());
	}

	private IdempotencyAdmin admin(@Nullable String store) {
		IdempotencyAdmin admin = (store != null) ? this.admins.get(store) : this.admins.values().iterator().next();
		Assert.notNull(admin, () -> "There is no store with this name. Use one of " + this.admins.keySet());
		return admin;
	}

	private static IdempotencyRecords records(IdempotencyAdmin admin) {
		return admin.records()
			.orElseThrow(() -> new UnsupportedOperationException("The idempotency store '" + admin.name()
					+ "' has no IdempotencyRecords. Use 'record', the only view that works with it"));
	}

	private static int limit(@Nullable Integer limit, int byDefault, int max) {
		int size = (limit != null) ? limit : byDefault;
		Assert.isTrue(size >= 1 && size <= max, () -> "'limit' is " + size + ". Set it to a value from 1 to " + max);
		return size;
	}

	private static IdempotencyKey key(@Nullable String scope, @Nullable String key) {
		if (scope == null || key == null) {
			throw new IllegalArgumentException("'scope' or 'key' is missing. Name both");
		}
		return IdempotencyKey.of(scope, key);
	}

	/**
	 * The parameters of a write operation, as {@link #change} describes them.
	 *
	 * @param requestedBy the user who requests the change, {@code null} if unknown
	 */
	record Command(@Nullable String scope, @Nullable String key, @Nullable Boolean force, @Nullable String keyPrefix,
			@Nullable OffsetDateTime createdFrom, @Nullable OffsetDateTime createdBefore, @Nullable Boolean dryRun,
			@Nullable Integer limit, @Nullable String after, @Nullable String store, @Nullable String requestedBy) {

		boolean isForced() {
			return Boolean.TRUE.equals(this.force);
		}

		// Endpoints ignore parameters that they do not know, so an optional 'dryRun' with
		// a typing error would delete the records.
		Selection selection() {
			Assert.notNull(this.scope, "'scope' is missing. Name one");
			Assert.isNull(this.key, "'key' is given for 'evict-all'. Use 'evict', or 'keyPrefix'");
			Assert.notNull(this.dryRun,
					"'dryRun' is missing. Set it to true to count the records, or to false to delete them");
			return new Selection(this.scope, Objects.requireNonNullElse(this.keyPrefix, ""),
					(this.createdFrom != null) ? this.createdFrom.toInstant() : null,
					(this.createdBefore != null) ? this.createdBefore.toInstant() : null);
		}

	}

	/**
	 * Description of all records in numbers.
	 *
	 * @param store the name of the store
	 * @param stores the names of all stores, if there are several
	 * @param complete whether all records were counted
	 * @param estimate an estimate of the number of all records, if not all were counted
	 * @param scopes the scopes
	 * @param completionsPending the number of completions of this instance that are still
	 * to be recorded
	 */
	@JsonInclude(Include.NON_NULL)
	public record OverviewDescriptor(String store, @Nullable Set<String> stores, boolean complete,
			@Nullable Long estimate, List<ScopeDescriptor> scopes, int completionsPending) {

	}

	/**
	 * Description of the records of a scope in numbers.
	 *
	 * @param name the scope
	 * @param inProgress claims that have not been settled, including the stuck ones
	 * @param stuck claims that have expired and that no consumer has taken over
	 * @param failed operations that may be claimed at once
	 * @param completed completed operations, including those whose retention has expired
	 * @param oldestInProgress the age of the oldest operation in progress, counted from
	 * its first claim
	 */
	@JsonInclude(Include.NON_NULL)
	public record ScopeDescriptor(String name, long inProgress, long stuck, long failed, long completed,
			@Nullable Duration oldestInProgress) {

		static ScopeDescriptor of(ScopeCount scope) {
			return new ScopeDescriptor(scope.name(), scope.inProgress(), scope.stuck(), scope.failed(),
					scope.completed(), scope.oldestInProgress());
		}

	}

	/**
	 * Description of a failure.
	 *
	 * @param type the class name of the error
	 * @param message its message, if values may be shown
	 */
	@JsonInclude(Include.NON_NULL)
	public record ErrorDescriptor(String type, @Nullable String message) {

		static ErrorDescriptor of(Failure failure, boolean values) {
			return new ErrorDescriptor(failure.type(), values ? failure.message() : null);
		}

	}

	/**
	 * Description of a list of records.
	 *
	 * @param complete whether no record follows
	 * @param next the end of the page, to be passed as {@code after}
	 * @param records the records
	 * @param completionsPending the completions of this instance that are still to be
	 * recorded, whether or not their claims have expired
	 * @param error the reason why the records could not be read
	 */
	@JsonInclude(Include.NON_NULL)
	public record RecordList(boolean complete, @Nullable String next, List<RecordDescriptor> records,
			@Nullable List<PendingDescriptor> completionsPending, @Nullable String error) {

		static RecordList of(Page page, @Nullable List<UnrecordedCompletion> unrecorded, boolean values) {
			List<UnrecordedCompletion> pending = Objects.requireNonNullElse(unrecorded, List.of());
			return new RecordList(page.complete(), page.next(),
					page.records()
						.stream()
						.map((record) -> RecordDescriptor.of(record, pending, values, null))
						.toList(),
					(unrecorded != null) ? PendingDescriptor.of(unrecorded) : null, null);
		}

	}

	/**
	 * Description of a completion that is still to be recorded.
	 *
	 * @param scope the scope
	 * @param key the key
	 * @param listener the name of the listener
	 * @param age the time since its handler returned
	 */
	public record PendingDescriptor(String scope, String key, String listener, Duration age) {

		static List<PendingDescriptor> of(List<UnrecordedCompletion> completions) {
			return completions.stream()
				.map((completion) -> new PendingDescriptor(completion.key().scope(), completion.key().value(),
						completion.listener(), completion.age()))
				.toList();
		}

	}

	/**
	 * Description of a record.
	 *
	 * @param scope the scope
	 * @param key the key
	 * @param state the {@link State}, or {@code DECLINED} if the handler has declined the
	 * operation for good
	 * @param fence the fencing token of the last claim
	 * @param attempt the number of starts of the operation since it last completed
	 * @param version the version that completed last, if the key has versions
	 * @param claimedUntil the time at which the claim expires, while it is in progress
	 * @param createdAt the time of the first claim
	 * @param completedAt the time of the completion, if there is one and it is known
	 * @param expiresAt the time at which the retention ends
	 * @param completionPending {@code true} if its handler has run in this instance and
	 * its completion is still to be recorded
	 * @param error the error of the last attempt, if it failed
	 * @param declineReason the reason of a declined operation, if values may be shown
	 * @param result the stored result or the body of a declined operation, if there is
	 * one and values may be shown
	 * @param outcomeUnreadable {@code true} if there is an outcome that the
	 * {@link StoredOutcomeTransformer} of this instance cannot restore
	 */
	@JsonInclude(Include.NON_NULL)
	public record RecordDescriptor(String scope, String key, String state, int fence, int attempt,
			@Nullable Long version, @Nullable Instant claimedUntil, Instant createdAt, @Nullable Instant completedAt,
			Instant expiresAt, @Nullable Boolean completionPending, @Nullable ErrorDescriptor error,
			@Nullable String declineReason, @Nullable String result, @Nullable Boolean outcomeUnreadable) {

		private static final String DECLINED = "DECLINED";

		static RecordDescriptor of(IdempotencyRecord record, List<UnrecordedCompletion> unrecorded, boolean values,
				@Nullable StoredOutcome outcome) {
			boolean declined = outcome != null && outcome.declineReason() != null;
			StoredOutcome shown = values ? outcome : null;
			boolean pending = unrecorded.stream().anyMatch((completion) -> completion.key().equals(record.key()));
			Failure failure = record.failure();
			return new RecordDescriptor(record.key().scope(), record.key().value(),
					declined ? DECLINED : record.state().name(), record.fence(), record.attempt(), record.version(),
					record.claimedUntil(), record.createdAt(), record.completedAt(), record.expiresAt(),
					pending ? true : null, (failure != null) ? ErrorDescriptor.of(failure, values) : null,
					(shown != null) ? shown.declineReason() : null, (shown != null) ? text(shown.result()) : null,
					null);
		}

		RecordDescriptor unreadable() {
			return new RecordDescriptor(this.scope, this.key, this.state, this.fence, this.attempt, this.version,
					this.claimedUntil, this.createdAt, this.completedAt, this.expiresAt, this.completionPending,
					this.error, this.declineReason, this.result, true);
		}

		private static @Nullable String text(byte @Nullable [] result) {
			if (result == null) {
				return null;
			}
			try {
				return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(result)).toString();
			}
			catch (CharacterCodingException ex) {
				return "base64:" + Base64.getEncoder().encodeToString(result);
			}
		}

	}

	/**
	 * Description of the outcome of a change.
	 *
	 * @param scope the scope
	 * @param key the key
	 * @param outcome the outcome
	 */
	public record Changed(String scope, String key, Change outcome) {

		static Changed of(IdempotencyKey key, Change outcome) {
			return new Changed(key.scope(), key.value(), outcome);
		}

	}

	/**
	 * Description of the outcome of a bulk eviction.
	 *
	 * @param scope the scope of the selection
	 * @param keyPrefix the text with which the keys of the selection begin
	 * @param createdFrom the earliest creation of the records, if limited
	 * @param createdBefore the time before which the records were created, if limited
	 * @param dryRun whether the records were counted only
	 * @param records the number of records that were deleted, or would be
	 * @param pending the number of keys that were left out because their completion is
	 * pending in this instance
	 * @param complete whether the selection has been examined to its end
	 * @param next the place to continue from, to be passed as {@code after}
	 */
	@JsonInclude(Include.NON_NULL)
	public record Evicted(String scope, String keyPrefix, @Nullable Instant createdFrom,
			@Nullable Instant createdBefore, boolean dryRun, int records, int pending, boolean complete,
			@Nullable String next) {

	}

}
