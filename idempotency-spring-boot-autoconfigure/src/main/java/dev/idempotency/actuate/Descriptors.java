package dev.idempotency.actuate;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.List;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonInclude.Include;
import org.jspecify.annotations.Nullable;

import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.store.IdempotencyRecords.Change;
import dev.idempotency.store.IdempotencyRecords.Page;
import dev.idempotency.store.IdempotencyRecords.Scope;
import dev.idempotency.template.IdempotencyOperator;
import dev.idempotency.template.UnrecordedCompletion;

/**
 * What the endpoint answers.
 *
 * @since 0.1.0
 */
public final class Descriptors {

	private Descriptors() {
	}

	/**
	 * All records in numbers.
	 *
	 * @param store the name of the store
	 * @param complete whether all records were counted
	 * @param estimate about how many there are, if not all were counted
	 * @param scopes the scopes
	 * @param completionsPending how many completions of this instance the store did not
	 * take yet
	 */
	@JsonInclude(Include.NON_NULL)
	public record Overview(String store, boolean complete, @Nullable Long estimate, List<ScopeDescriptor> scopes,
			int completionsPending) {

		static Overview of(IdempotencyOperator operator, IdempotencyRecords.Overview overview) {
			return new Overview(operator.store().name(), overview.complete(), overview.estimate(),
					overview.scopes().stream().map(ScopeDescriptor::of).toList(), operator.unrecorded().size());
		}

	}

	/**
	 * The records of a scope in numbers.
	 *
	 * @param name the scope
	 * @param inProgress claims that have not been settled, the stuck ones included
	 * @param stuck claims that have run out and that nobody has taken over
	 * @param failed operations that may be claimed at once
	 * @param completed completed operations, also those whose retention is over
	 * @param oldestInProgress the age of the oldest operation in progress, since its
	 * first claim
	 */
	@JsonInclude(Include.NON_NULL)
	public record ScopeDescriptor(String name, long inProgress, long stuck, long failed, long completed,
			@Nullable Duration oldestInProgress) {

		static ScopeDescriptor of(Scope scope) {
			return new ScopeDescriptor(scope.name(), scope.inProgress(), scope.stuck(), scope.failed(),
					scope.completed(), scope.oldestInProgress());
		}

	}

	/**
	 * Why an operation failed.
	 *
	 * @param type the class name of the error
	 * @param message its message, if that may be shown
	 */
	@JsonInclude(Include.NON_NULL)
	public record ErrorDescriptor(String type, @Nullable String message) {

	}

	/**
	 * A list of records.
	 *
	 * @param complete whether there is nothing after them
	 * @param next where to go on, if there is something
	 * @param records the records
	 * @param completionsPending the completions of this instance that the store did not
	 * take yet, whether or not their claims have run out
	 * @param error why there are no records, if there should be
	 */
	@JsonInclude(Include.NON_NULL)
	public record RecordList(boolean complete, @Nullable String next, List<RecordDescriptor> records,
			@Nullable List<Pending> completionsPending, @Nullable String error) {

		static RecordList stuck(IdempotencyOperator operator, Page page, boolean values) {
			return new RecordList(page.complete(), page.next(),
					page.records()
						.stream()
						.map((record) -> RecordDescriptor.of(record, operator, values, null))
						.toList(),
					pending(operator), null);
		}

		static RecordList unavailable(IdempotencyOperator operator, @Nullable String error) {
			return new RecordList(false, null, List.of(), pending(operator), error);
		}

		static RecordList failed(Page page, boolean values) {
			return new RecordList(page.complete(), page.next(),
					page.records().stream().map((record) -> RecordDescriptor.of(record, null, values, null)).toList(),
					null, null);
		}

		private static List<Pending> pending(IdempotencyOperator operator) {
			return operator.unrecorded().stream().map(Pending::of).toList();
		}

	}

	/**
	 * A completion that the store did not take yet.
	 *
	 * @param scope the scope
	 * @param key the key
	 * @param listener the name of the listener
	 * @param age how long ago its handler had run
	 */
	public record Pending(String scope, String key, String listener, Duration age) {

		static Pending of(UnrecordedCompletion completion) {
			return new Pending(completion.key().scope(), completion.key().value(), completion.listener(),
					completion.age());
		}

	}

	/**
	 * A record.
	 *
	 * @param scope the scope
	 * @param key the key
	 * @param state the state
	 * @param fence the fencing token of the last claim
	 * @param attempt how often the operation has been started since it last completed
	 * @param claimedUntil when the claim runs out or has run out, while it is in progress
	 * @param createdAt when the key was first claimed
	 * @param completedAt when the operation was completed, if it is and if that is known
	 * @param expiresAt when the key may be forgotten
	 * @param completionPending {@code true} if its handler has run in this instance, and
	 * the store did not take the completion yet
	 * @param error why the last attempt failed, if it did
	 * @param result the stored result, if there is one and it may be shown
	 */
	@JsonInclude(Include.NON_NULL)
	public record RecordDescriptor(String scope, String key, State state, int fence, int attempt,
			@Nullable Instant claimedUntil, Instant createdAt, @Nullable Instant completedAt, Instant expiresAt,
			@Nullable Boolean completionPending, @Nullable ErrorDescriptor error, @Nullable String result) {

		static RecordDescriptor of(IdempotencyRecord record, @Nullable IdempotencyOperator operator, boolean values,
				byte @Nullable [] result) {
			boolean pending = operator != null
					&& operator.unrecorded().stream().anyMatch((completion) -> completion.key().equals(record.key()));
			Failure failure = record.failure();
			return new RecordDescriptor(record.key().scope(), record.key().value(), record.state(), record.fence(),
					record.attempt(), record.claimedUntil(), record.createdAt(), record.completedAt(),
					record.expiresAt(), pending ? true : null,
					(failure != null) ? new ErrorDescriptor(failure.type(), values ? failure.message() : null) : null,
					text(result));
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
	 * What came of a change.
	 *
	 * @param scope the scope
	 * @param key the key
	 * @param outcome what came of it
	 */
	public record Changed(String scope, String key, Change outcome) {

	}

	/**
	 * Why there is no answer.
	 *
	 * @param error a sentence
	 */
	public record Problem(String error) {

	}

}
