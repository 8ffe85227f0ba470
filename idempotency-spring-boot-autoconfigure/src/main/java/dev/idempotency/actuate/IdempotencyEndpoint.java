/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.actuate;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.annotation.RegisterReflectionForBinding;
import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.OperationResponseBody;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.Show;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.annotation.WebEndpoint;
import org.springframework.util.Assert;
import org.springframework.util.StringUtils;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyResultUnreadableException;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.ListenerCensus.Listener;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.actuate.IdempotencyEndpoint.Changed;
import dev.idempotency.actuate.IdempotencyEndpoint.Evicted;
import dev.idempotency.actuate.IdempotencyEndpoint.ListenerList;
import dev.idempotency.actuate.IdempotencyEndpoint.MarkList;
import dev.idempotency.actuate.IdempotencyEndpoint.MarkLowered;
import dev.idempotency.actuate.IdempotencyEndpoint.OtherContentList;
import dev.idempotency.actuate.IdempotencyEndpoint.OverviewDescriptor;
import dev.idempotency.actuate.IdempotencyEndpoint.RecordDescriptor;
import dev.idempotency.actuate.IdempotencyEndpoint.RecordList;
import dev.idempotency.actuate.WebResponses.ChangeDescriptor;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.store.IdempotencyRecords.Change;
import dev.idempotency.store.IdempotencyRecords.Page;
import dev.idempotency.store.IdempotencyRecords.ScopeCount;
import dev.idempotency.store.IdempotencyRecords.Selection;
import dev.idempotency.store.OffsetMarks.StoredMark;
import dev.idempotency.template.IdempotencyAdmin;
import dev.idempotency.template.IdempotencyAdmin.BulkEviction;
import dev.idempotency.template.IdempotencyAdmin.StoredOutcome;
import dev.idempotency.template.IdempotencyAdmin.UnrecordedCompletion;
import dev.idempotency.template.OtherContent;
import dev.idempotency.template.StoredOutcomeTransformer;

/**
 * {@link WebEndpoint @WebEndpoint} that shows the idempotency records of the application
 * and changes them by hand. Read operations are allowed by default, write operations only
 * with {@code management.endpoint.idempotency.access} set to {@code unrestricted}.
 *
 * @param admins the administrations of the stores by their names; the first store is
 * shown if an operation does not name one
 * @param listeners supplies the listeners of the application
 * @param showValues when to show error messages and stored results
 * @param roles the roles that may see them when authorized, empty for every authenticated
 * user
 * @since 0.1.0
 */
@WebEndpoint(id = IdempotencyEndpoint.ID, defaultAccess = Access.READ_ONLY)
@RegisterReflectionForBinding({ OverviewDescriptor.class, RecordList.class, RecordDescriptor.class, Changed.class,
		Evicted.class, MarkList.class, ListenerList.class, OtherContentList.class, MarkLowered.class,
		WebResponses.Problem.class })
public record IdempotencyEndpoint(Map<String, IdempotencyAdmin> admins, Supplier<List<Listener>> listeners,
		Show showValues, Set<String> roles) {

	static final String ID = "idempotency";

	private static final int LIMIT = 100;

	private static final int MAX_LIMIT = 1000;

	private static final int MAX_MARKS = 10_000;

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
				overview.complete(), overview.estimate(), overview.scopes(), admin.unrecorded().size());
	}

	/**
	 * Show one record, a list of records, or the marks of listeners whose records are
	 * recognized {@linkplain MissingKeyPolicy#OFFSET by their offsets}.
	 * @param view {@code listeners}, {@code record}, {@code stuck}, {@code failed},
	 * {@code offsets} or {@code other-content}
	 * @param scope the scope of the record
	 * @param key the key of the record
	 * @param limit the largest number of records of a list, 1 to 1000, 100 by default;
	 * the largest number of marks, 1 to 10000, 1000 by default
	 * @param after the end of an earlier page of the list
	 * @param store the name of the store, {@code null} for the first one
	 * @param context the user
	 * @return the record or the list, {@code null} if there is none
	 */
	@ReadOperation
	public @Nullable Object view(@Selector String view, @Nullable String scope, @Nullable String key,
			@Nullable Integer limit, @Nullable String after, @Nullable String store, SecurityContext context) {
		IdempotencyAdmin admin = admin(store);
		boolean values = this.showValues.isShown(context, this.roles);
		if (view.equals("record")) {
			WebResponses.assertUnused(view, List.of("limit", "after"), limit, after);
		}
		else {
			boolean other = view.equals("other-content") || view.equals("listeners");
			WebResponses.assertUnused(view, List.of("scope", "key", "after", "limit"), scope, key,
					(other || view.equals("offsets")) ? after : null, other ? limit : null);
		}
		return switch (view) {
			case "record" -> record(admin, key(scope, key), values);
			case "stuck" -> stuck(admin, WebResponses.limit(limit, LIMIT, 1, MAX_LIMIT), after, values);
			case "failed" -> RecordList.of(records(admin).failed(WebResponses.limit(limit, LIMIT, 1, MAX_LIMIT), after),
					null, values);
			case "listeners" -> new ListenerList(this.listeners.get());
			case "other-content" -> OtherContentList.of(admin.otherContents());
			case "offsets" -> marks(admin, WebResponses.limit(limit, MAX_LIMIT, 1, MAX_MARKS));
			default -> null;
		};
	}

	private static @Nullable RecordDescriptor record(IdempotencyAdmin admin, IdempotencyKey key, boolean values) {
		IdempotencyRecord record = admin.store().find(List.of(key)).get(key);
		if (record == null) {
			return null;
		}
		StoredOutcome outcome = null;
		boolean unreadable = false;
		try {
			outcome = (record.state() == State.COMPLETED) ? admin.outcome(key).orElse(null) : null;
		}
		catch (IdempotencyResultUnreadableException ex) {
			unreadable = true;
		}
		return RecordDescriptor.of(record, admin.unrecorded(), values, outcome, unreadable);
	}

	// The completions of this instance that are still to be recorded are known without
	// the store.
	private static Object stuck(IdempotencyAdmin admin, int limit, @Nullable String after, boolean values) {
		try {
			return RecordList.of(records(admin).stuck(limit, after), admin.unrecorded(), values);
		}
		catch (IdempotencyStoreUnavailableException | IdempotencyStoreRefusedException ex) {
			return new WebEndpointResponse<>(
					new RecordList(false, null, List.of(), PendingDescriptor.of(admin.unrecorded()), ex.getMessage()),
					WebEndpointResponse.STATUS_SERVICE_UNAVAILABLE);
		}
	}

	private static MarkList marks(IdempotencyAdmin admin, int limit) {
		return new MarkList(admin.offsetMarks()
			.orElseThrow(() -> new UnsupportedOperationException(
					"The idempotency store '" + admin.name() + "' has no marks of offsets"))
			.list(limit));
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
	 * @param all whether to select every record of the scope; required for
	 * {@code evict-all} if there is no prefix and no time
	 * @param dryRun whether to count the records of the selection only; required for
	 * {@code evict-all}
	 * @param limit the number of records of the selection after which to stop, 1 to
	 * 100000, 1000 by default
	 * @param after the end of an earlier call for the selection
	 * @param store the name of the store, {@code null} for the first one
	 * @param context the user
	 * @return the outcome, {@code null} if there is no such action
	 */
	@WriteOperation
	public @Nullable Object change(@Selector String action, @Nullable String scope, @Nullable String key,
			@Nullable Boolean force, @Nullable String keyPrefix, @Nullable OffsetDateTime createdFrom,
			@Nullable OffsetDateTime createdBefore, @Nullable Boolean all, @Nullable Boolean dryRun,
			@Nullable Integer limit, @Nullable String after, @Nullable String store, SecurityContext context) {
		IdempotencyAdmin admin = admin(store);
		boolean forced = Boolean.TRUE.equals(force);
		String requestedBy = WebResponses.user(context);
		return switch (action) {
			case "release", "evict" -> {
				WebResponses.assertUnused(action,
						List.of("keyPrefix", "createdFrom", "createdBefore", "all", "dryRun", "limit", "after"),
						keyPrefix, createdFrom, createdBefore, all, dryRun, limit, after);
				IdempotencyKey one = key(scope, key);
				yield new Changed(one.scope(), one.value(), action.equals("release")
						? admin.release(one, forced, requestedBy) : admin.evict(one, forced, requestedBy));
			}
			case "evict-all" -> {
				Assert.notNull(scope, "'scope' is missing. Name one");
				Assert.isNull(key, "'key' is given for 'evict-all'. Use 'evict', or 'keyPrefix'");
				Assert.notNull(dryRun,
						"'dryRun' is missing. Set it to true to count the records, or to false to delete them");
				boolean filtered = StringUtils.hasLength(keyPrefix) || createdFrom != null || createdBefore != null;
				Assert.isTrue(filtered != Boolean.TRUE.equals(all), filtered
						? "'all' is given beside 'keyPrefix', 'createdFrom' or 'createdBefore'. Remove one of them"
						: "'keyPrefix', 'createdFrom' and 'createdBefore' are missing. Give one of them, or set 'all' to true to select every record of the scope");
				Selection selection = new Selection(scope, Objects.requireNonNullElse(keyPrefix, ""),
						(createdFrom != null) ? createdFrom.toInstant() : null,
						(createdBefore != null) ? createdBefore.toInstant() : null);
				int size = WebResponses.limit(limit, MAX_LIMIT, 1, IdempotencyRecords.WINDOW);
				yield Evicted.of(selection, dryRun, dryRun ? admin.countEvictable(selection, forced, size, after)
						: admin.evictAll(selection, forced, size, after, requestedBy));
			}
			default -> null;
		};
	}

	/**
	 * Lower the mark of a partition, so that its records are processed again. Stop the
	 * listeners of the scope before, in all instances: a running listener raises the mark
	 * again with its next record.
	 * @param view {@code offsets}
	 * @param action {@code lower}
	 * @param scope the scope
	 * @param topic the topic
	 * @param partition the partition
	 * @param next the offset of the first record to process again; 0 deletes the mark
	 * @param store the name of the store, {@code null} for the first one
	 * @param context the user
	 * @return the outcome, {@code null} if there is no such action
	 */
	@WriteOperation
	public @Nullable MarkLowered lower(@Selector String view, @Selector String action, String scope, String topic,
			int partition, long next, @Nullable String store, SecurityContext context) {
		if (!view.equals("offsets") || !action.equals("lower")) {
			return null;
		}
		Assert.isTrue(next >= 0 && partition >= 0, "'next' and 'partition' must not be negative");
		boolean done = admin(store).lowerMark(scope, topic, partition, next, WebResponses.user(context));
		return new MarkLowered(scope, topic, partition, next, done ? Change.DONE : Change.ABSENT);
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

	private static IdempotencyKey key(@Nullable String scope, @Nullable String key) {
		Assert.isTrue(scope != null && key != null, "'scope' or 'key' is missing. Name both");
		return IdempotencyKey.of(scope, key);
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
	public record OverviewDescriptor(String store, @Nullable Set<String> stores, boolean complete,
			@Nullable Long estimate, List<ScopeCount> scopes, int completionsPending) implements OperationResponseBody {

	}

	/**
	 * Description of a failure.
	 *
	 * @param type the class name of the error
	 * @param message its message, if values may be shown
	 */
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
	public record RecordList(boolean complete, @Nullable String next, List<RecordDescriptor> records,
			@Nullable List<PendingDescriptor> completionsPending,
			@Nullable String error) implements OperationResponseBody {

		static RecordList of(Page page, @Nullable List<UnrecordedCompletion> unrecorded, boolean values) {
			List<UnrecordedCompletion> pending = Objects.requireNonNullElse(unrecorded, List.of());
			return new RecordList(page.complete(), page.next(),
					page.records()
						.stream()
						.map((record) -> RecordDescriptor.of(record, pending, values, null, false))
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
	 * Description of the listeners of this instance.
	 *
	 * @param listeners the listeners, of which those without protection come with the
	 * reason that they declare
	 */
	public record ListenerList(List<Listener> listeners) implements OperationResponseBody {

	}

	/**
	 * Description of the last duplicates of this instance whose content differed from
	 * that of the operation for which their key stands.
	 *
	 * @param duplicates the duplicates
	 */
	public record OtherContentList(List<OtherContentDescriptor> duplicates) implements OperationResponseBody {

		static OtherContentList of(List<OtherContent> contents) {
			return new OtherContentList(contents.stream()
				.map((content) -> new OtherContentDescriptor(content.key().scope(), content.key().value(),
						content.listener(), content.record(), content.first(), content.time()))
				.toList());
		}

	}

	/**
	 * Description of a duplicate with other content.
	 *
	 * @param scope the scope
	 * @param key the key
	 * @param listener the name of the listener
	 * @param record the record that was taken for a duplicate
	 * @param first the record that was processed, if this instance still knows it
	 * @param time the time of the duplicate
	 */
	public record OtherContentDescriptor(String scope, String key, String listener, String record,
			@Nullable String first, Instant time) {

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
	 * @param resultNotStored {@code true} if the operation is completed without its
	 * result, because it could not be stored
	 * @param outcomeUnreadable {@code true} if there is an outcome that the
	 * {@link StoredOutcomeTransformer} of this instance cannot restore
	 */
	public record RecordDescriptor(String scope, String key, String state, int fence, int attempt,
			@Nullable Long version, @Nullable Instant claimedUntil, Instant createdAt, @Nullable Instant completedAt,
			Instant expiresAt, @Nullable Boolean completionPending, @Nullable ErrorDescriptor error,
			@Nullable String declineReason, @Nullable String result, @Nullable Boolean resultNotStored,
			@Nullable Boolean outcomeUnreadable) implements OperationResponseBody {

		private static final String DECLINED = "DECLINED";

		static RecordDescriptor of(IdempotencyRecord record, List<UnrecordedCompletion> unrecorded, boolean values,
				@Nullable StoredOutcome outcome, boolean unreadable) {
			boolean declined = outcome != null && outcome.declineReason() != null;
			StoredOutcome shown = values ? outcome : null;
			boolean pending = unrecorded.stream().anyMatch((completion) -> completion.key().equals(record.key()));
			Failure failure = record.failure();
			return new RecordDescriptor(record.key().scope(), record.key().value(),
					declined ? DECLINED : record.state().name(), record.fence(), record.attempt(), record.version(),
					record.claimedUntil(), record.createdAt(), record.completedAt(), record.expiresAt(),
					pending ? true : null, (failure != null) ? ErrorDescriptor.of(failure, values) : null,
					(shown != null) ? shown.declineReason() : null, (shown != null) ? text(shown.result()) : null,
					(outcome != null && outcome.resultNotStored()) ? true : null, unreadable ? true : null);
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
	public record Changed(String scope, String key, Change outcome) implements ChangeDescriptor {

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
	public record Evicted(String scope, String keyPrefix, @Nullable Instant createdFrom,
			@Nullable Instant createdBefore, boolean dryRun, int records, int pending, boolean complete,
			@Nullable String next) implements OperationResponseBody {

		static Evicted of(Selection selection, boolean dryRun, BulkEviction eviction) {
			return new Evicted(selection.scope(), selection.keyPrefix(), selection.createdFrom(),
					selection.createdBefore(), dryRun, eviction.records(), eviction.pending(), eviction.complete(),
					eviction.next());
		}

	}

	/**
	 * Description of the marks of partitions. Marks with the id of a deleted topic have
	 * no effect.
	 *
	 * @param marks the marks
	 */
	public record MarkList(List<StoredMark> marks) implements OperationResponseBody {

	}

	/**
	 * Description of the outcome of a lowered mark.
	 *
	 * @param scope the scope
	 * @param topic the topic
	 * @param partition the partition
	 * @param next the offset of the first record to process again
	 * @param outcome {@link Change#DONE}, or {@link Change#ABSENT} if there is no mark or
	 * it is lower
	 */
	public record MarkLowered(String scope, String topic, int partition, long next,
			Change outcome) implements ChangeDescriptor {

	}

}
