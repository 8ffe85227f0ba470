/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.TransactionSystemException;
import org.springframework.transaction.support.DefaultTransactionDefinition;
import org.springframework.transaction.support.DefaultTransactionStatus;
import org.springframework.transaction.support.TransactionTemplate;
import org.springframework.util.unit.DataSize;

import dev.idempotency.ExceptionCauses;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.StalePolicy;
import dev.idempotency.jdbc.JdbcIdempotencyStore;
import dev.idempotency.micrometer.IdempotencyMetrics;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.BatchHandler.BatchResult;
import dev.idempotency.template.IdempotencyAdmin.StoredOutcome;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.OperationObserver.HandledOperation;
import dev.idempotency.testsupport.RecordingObserver;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.awaitility.Awaitility.await;

/**
 * An operation that is delivered in one of the shapes. Its first delivery gets into a
 * situation; nothing goes wrong in the redelivery. The other items of its batch have keys
 * of their own, and their handlers succeed.
 */
final class ShapedOperation implements AutoCloseable {

	private static final DataSize MAXIMUM_RESULT_SIZE = DataSize.ofBytes(100);

	private static final String PAID = "paid";

	private final Database database;

	private final Situation situation;

	private final Mode mode;

	private final Shape shape;

	private final SimpleMeterRegistry meters = new SimpleMeterRegistry();

	private final RecordingObserver observer = new RecordingObserver();

	private final IdempotencyTemplate template;

	private final List<Item> items;

	private final Item target;

	private boolean redelivered;

	// The records while an asynchronous operation waits for the store.
	private @Nullable Map<IdempotencyKey, IdempotencyRecord> waiting;

	ShapedOperation(Database database, Situation situation, Mode mode, Shape shape, boolean failedBefore) {
		this.database = database;
		this.situation = situation;
		this.mode = mode;
		this.shape = shape;
		// An event that is recorded has been counted before.
		Observers observers = new Observers(List.of(new IdempotencyMetrics(this.meters), this.observer),
				List.of(this.observer));
		this.template = new IdempotencyTemplate(database.store,
				new Settings(null, database.manager, false, StoreCircuit.ALWAYS_CLOSED, CompletionCache.NONE, observers,
						List.of(), MAXIMUM_RESULT_SIZE, null, OperationSpec.Defaults.STANDARD));
		this.items = IntStream.range(0, shape.items).mapToObj(Item::new).toList();
		this.target = this.items.get(shape.position);
		if (failedBefore) {
			database.failElsewhere(this.target.request(null));
		}
		switch (situation) {
			case OTHER_CONTENT -> database.completeElsewhere(this.target.request("other content"));
			case STALE, STALE_REJECTED -> database.completeElsewhere(this.target.request(5));
			case OTHER_OWNER -> database.claimElsewhere(this.target.request(null));
			case DOWN_AT_CLAIM -> database.down = true;
			default -> {
				// The situation begins in the handler.
			}
		}
	}

	/**
	 * Deliver the operation for the first time.
	 * @return what can be observed afterwards
	 */
	Observation deliver() {
		Map<IdempotencyKey, IdempotencyRecord> before = findAll();
		this.items.forEach((item) -> item.begin(before.get(item.key)));
		this.waiting = null;
		if (this.redelivered) {
			// Not earlier, because pending settlements are then retried at any time.
			this.database.down = false;
		}
		List<String> answers = this.shape.isBatch ? runBatch()
				: List.of(this.shape.isAsynchronous ? runAsync() : run());
		awaitPending();
		Map<IdempotencyKey, IdempotencyRecord> after = (this.waiting != null) ? this.waiting : findAll();
		List<Observation> observed = new ArrayList<>();
		for (Item item : this.items) {
			observed.add(item.observe(answers.get(observed.size()), after.get(item.key)));
		}
		Observation own = observed.remove(this.shape.position);
		return own.withOthers(String.join(", ", observed.stream().map((other) -> describe(other, own)).toList()));
	}

	// Another thread may have recorded a pending completion.
	private void awaitPending() {
		if (this.redelivered) {
			await().pollDelay(Duration.ZERO)
				.pollInterval(Duration.ofMillis(2))
				.until(() -> count("failed ") == count("SETTLED "));
		}
	}

	private long count(String event) {
		return this.observer.completions().stream().filter((completion) -> completion.startsWith(event)).count();
	}

	private Map<IdempotencyKey, IdempotencyRecord> findAll() {
		return this.database.real.store().find(this.items.stream().map((item) -> item.key).toList());
	}

	/**
	 * End the situation, and deliver the operation once more.
	 * @return what can be observed afterwards
	 */
	Observation redeliver() {
		this.redelivered = true;
		if (this.situation == Situation.OTHER_OWNER) {
			this.database.completeElsewhere(this.target.request(null));
		}
		return deliver();
	}

	private String describe(Observation other, Observation own) {
		// A batch whose failed item is unknown runs again as a whole.
		boolean repeats = this.mode == Mode.LEASED && this.shape.isUnknown && other.effects().equals("2");
		if ((other.effects().equals("1") || repeats) && (this.redelivered ? other.isDone() : other.isProcessed())) {
			return other.answer().endsWith("nothing") ? "done without a result" : "done";
		}
		boolean used = !other.record().equals("unchanged") && !other.record().startsWith("FAILED +0");
		if (other.answer().equals("left out") && other.outcome().isEmpty()) {
			return used ? "left out and claimed" : "left out";
		}
		if (other.isLike(own)) {
			return "same";
		}
		return (other.isBlocked() && other.outcome().startsWith("completion.failed, ")
				&& other.record().equals("IN_PROGRESS +1 +1")) ? "pending"
						: other.answer() + " [" + other.outcome().replace(", ", " and ") + "; " + other.record() + "]";
	}

	private String run() {
		try {
			return answer(this.template.execute(this.target.operation(), new Codec(), boundary(), null,
					() -> handle(this.target)));
		}
		catch (Throwable ex) {
			return answer(ex);
		}
	}

	private String runAsync() {
		CompletableFuture<IdempotentResult<String>> future;
		try {
			future = this.template.executeAsync(this.target.operation(), new Codec(), this::stage);
		}
		catch (Throwable ex) {
			return answer(ex);
		}
		// Waits for the thread that settles the claim.
		this.template.settle();
		boolean waits = count("failed ") > count("SETTLED ");
		if (waits) {
			this.waiting = findAll();
			this.database.down = false;
			this.template.settle();
		}
		return (waits ? "waits, " : "") + future.orTimeout(10, TimeUnit.SECONDS)
			.handle((result, error) -> (error != null) ? answer(ExceptionCauses.ofStage(error)) : answer(result))
			.join();
	}

	private CompletionStage<String> stage() throws Exception {
		try {
			return CompletableFuture.completedFuture(handle(this.target));
		}
		catch (Exception ex) {
			if (this.shape == Shape.ASYNC_METHOD) {
				throw ex;
			}
			return CompletableFuture.failedFuture(ex);
		}
	}

	private List<String> runBatch() {
		List<BatchItem> batch = this.items.stream().map((item) -> new BatchItem(item.operation(), "lane")).toList();
		BatchResult<String> result = this.template.executeAll(batch, this.mode, new Codec(), boundary(), new Handler());
		return IntStream.range(0, batch.size()).mapToObj((index) -> answer(result, index)).toList();
	}

	private TransactionBoundary boundary() {
		return TransactionBoundary.of(new DefaultTransactionDefinition(),
				() -> this.situation == Situation.ROLLBACK && !this.redelivered);
	}

	private String handle(Item item) throws Exception {
		try {
			item.run();
			return (item == this.target && !this.redelivered) ? act() : PAID;
		}
		finally {
			boolean downNow = (this.situation == Situation.DOWN_AT_FAILURE && item == this.target)
					|| (this.situation == Situation.DOWN_AT_COMPLETION
							&& item == this.items.get(this.items.size() - 1));
			this.database.down = downNow && !this.redelivered;
		}
	}

	private String act() throws Exception {
		switch (this.situation) {
			case THROWS, DOWN_AT_FAILURE -> throw new IllegalStateException("handler");
			case BLOCKED -> throw new OperationInProgressException("another operation", TestDatabase.LEASE);
			case BLOCKED_CAUSE -> throw new IllegalStateException(
					new OperationInProgressException("another operation", TestDatabase.LEASE));
			case DECLINES -> throw new OperationDeclinedException("no money", "body");
			case LOST -> this.database.completeElsewhere(this.target.request(null));
			case LOST_AND_THROWS -> {
				Runnable takeOver = () -> this.database.completeElsewhere(this.target.request(null));
				if (this.mode == Mode.LEASED) {
					takeOver.run();
				}
				else {
					// Until then, the transaction locks the record.
					this.database.afterRollback = takeOver;
				}
				throw new IllegalStateException("handler");
			}
			case ROLLBACK_MARKED -> new TransactionTemplate(this.database.manager)
				.executeWithoutResult((status) -> status.setRollbackOnly());
			default -> {
				// The handler returns its result.
			}
		}
		return switch (this.situation) {
			case TOO_LARGE -> "large".repeat(100);
			case UNWRITABLE -> Codec.UNWRITABLE;
			case UNREADABLE -> Codec.UNREADABLE;
			default -> PAID;
		};
	}

	private static String answer(IdempotentResult<String> result) {
		return "done" + (result.duplicate() ? " again: " : ": ") + (result.stale() ? "stale" : brief(result.result()))
				+ ((result.declineReason() != null) ? ", " + result.declineReason() : "");
	}

	private static String answer(Throwable error) {
		if (error instanceof OperationDeclinedException declined) {
			return answer(new IdempotentResult<>((String) declined.body(), declined.isDuplicate(), declined.reason()));
		}
		OperationBlockedException blocked = OperationBlockedException.in(error);
		return (blocked != null) ? "blocked: " + name(blocked) : "failed: " + name(error);
	}

	private static String answer(BatchResult<String> batch, int index) {
		IdempotentResult<String> result = batch.results().get(index);
		OperationBlockedException blocked = batch.blocked().get(index);
		Throwable failure = batch.failure();
		if (result != null || blocked != null) {
			return (result != null) ? answer(result) : answer(blocked);
		}
		if (failure != null && batch.failedAt() < 0) {
			return "batch failed: " + name(failure);
		}
		return (failure != null && batch.failedAt() == index) ? "failed: " + name(failure) : "left out";
	}

	private static String name(Throwable error) {
		return error.getClass().getSimpleName().replaceAll("^(IdempotencyStore|Idempotency|Operation)|Exception$", "");
	}

	private static String brief(@Nullable String result) {
		return (result != null) ? result.substring(0, Math.min(10, result.length())) : "nothing";
	}

	@Override
	public void close() {
		this.database.down = false;
		this.template.close();
	}

	/**
	 * A way in which an operation is run.
	 */
	enum Shape {

		SINGLE, BATCH_OF_ONE(1, 0), FIRST(3, 0), MIDDLE(3, 1), LAST(3, 2),

		// The handler does not name the item at which it fails.
		FIRST_UNKNOWN(3, 0), MIDDLE_UNKNOWN(3, 1), LAST_UNKNOWN(3, 2),

		// The stage of an asynchronous method fails, or the method itself.
		ASYNC_STAGE, ASYNC_METHOD;

		private final boolean isBatch;

		private final int items;

		private final int position;

		private final boolean isUnknown = name().endsWith("UNKNOWN");

		private final boolean isAsynchronous = name().startsWith("ASYNC");

		Shape() {
			this.isBatch = false;
			this.items = 1;
			this.position = 0;
		}

		Shape(int items, int position) {
			this.isBatch = true;
			this.items = items;
			this.position = position;
		}

		boolean isBatch() {
			return this.isBatch;
		}

		/**
		 * Return shapes.
		 * @param names their names or those of groups, separated by spaces
		 * @return the shapes
		 */
		static Set<Shape> named(String names) {
			EnumSet<Shape> shapes = EnumSet.noneOf(Shape.class);
			for (String name : names.split(" ")) {
				switch (name) {
					case "ANY" -> shapes.addAll(EnumSet.allOf(Shape.class));
					case "UNKNOWN" -> shapes.addAll(EnumSet.of(FIRST_UNKNOWN, MIDDLE_UNKNOWN, LAST_UNKNOWN));
					case "ASYNC" -> shapes.addAll(EnumSet.of(ASYNC_STAGE, ASYNC_METHOD));
					default -> shapes.add(valueOf(name));
				}
			}
			return shapes;
		}

		// A description for all other items, "earlier / later", or that of each.
		String others(String described) {
			String[] parts = described.split(" / ");
			return described.contains(", ") ? described
					: IntStream.range(0, this.items)
						.filter((item) -> item != this.position)
						.mapToObj((item) -> parts[(item < this.position) ? 0 : parts.length - 1])
						.collect(Collectors.joining(", "));
		}

	}

	/**
	 * The event in the first delivery.
	 */
	enum Situation {

		RETURNS, THROWS, BLOCKED, BLOCKED_CAUSE, DECLINES, OTHER_CONTENT, OTHER_OWNER, TOO_LARGE, UNWRITABLE,
		UNREADABLE, DOWN_AT_CLAIM, DOWN_AT_COMPLETION, DOWN_AT_FAILURE, LOST, LOST_AND_THROWS, STALE, STALE_REJECTED,
		ROLLBACK, ROLLBACK_MARKED;

		private static final EnumSet<Situation> THROWN = EnumSet.of(THROWS, BLOCKED, BLOCKED_CAUSE, DECLINES,
				DOWN_AT_FAILURE, LOST_AND_THROWS);

		/**
		 * Return situations.
		 * @param names their names or those of groups, separated by spaces
		 * @return the situations
		 */
		static Set<Situation> named(String names) {
			return switch (names) {
				case "ANY" -> EnumSet.allOf(Situation.class);
				case "NOT_THROWN" -> EnumSet.complementOf(THROWN);
				default -> EnumSet.copyOf(Arrays.stream(names.split(" ")).map(Situation::valueOf).toList());
			};
		}

	}

	/**
	 * What can be observed after a delivery. Attempts and fences are relative to those
	 * before it.
	 *
	 * @param outcome the meters that have counted the operation; a timer has the name of
	 * its outcome
	 * @param record the state, attempt, fence, failure and outcome of the stored record
	 * @param runs the attempt and fence that each run of the handler has seen
	 * @param effects the number of committed effects so far
	 * @param answer the answer to the caller. Its first word decides about the offset
	 * @param others the other items of the batch
	 * @param attempt the attempt that is reported with the outcome
	 */
	record Observation(String outcome, String record, String runs, String effects, String answer, String others,
			String attempt) {

		private Observation withOthers(String described) {
			return new Observation(this.outcome, this.record, this.runs, this.effects, this.answer, described,
					this.attempt);
		}

		private boolean isProcessed() {
			return this.outcome.equals("processed") && this.record.startsWith("COMPLETED +1 +1")
					&& this.runs.replace(", ", "").replace("+1 +1", "").isEmpty() && this.answer.startsWith("done: ");
		}

		private boolean isDone() {
			return this.outcome.matches("processed|(completion.settled settled, )?duplicate")
					&& this.record.matches("unchanged|COMPLETED .*") && this.answer.startsWith("done");
		}

		private boolean isBlocked() {
			return this.answer.startsWith("blocked: ");
		}

		private boolean isLike(Observation other) {
			return this.outcome.equals(other.outcome) && this.record.equals(other.record)
					&& this.answer.equals(other.answer);
		}

		List<String> cells() {
			return Stream.of(this.outcome, this.record, this.runs, this.effects, this.answer, this.others, this.attempt)
				.map((cell) -> cell.isEmpty() ? "-" : cell)
				.toList();
		}

	}

	/**
	 * One key.
	 */
	private final class Item {

		private final IdempotencyKey key = TestDatabase.newKey();

		private final String listener;

		private final List<String> runs = new CopyOnWriteArrayList<>();

		private @Nullable IdempotencyRecord before;

		private Map<String, Long> counted = Map.of();

		private int reported;

		Item(int index) {
			this.listener = "item" + index;
		}

		ClaimRequest request(@Nullable Object content) {
			ClaimRequest request = TestDatabase.request(this.key, (content instanceof String text) ? text : null);
			return (content instanceof Integer version) ? new ClaimRequest(this.key, request.token(), null,
					request.lease(), request.retention(), version.longValue()) : request;
		}

		IdempotentOperation operation() {
			Situation now = (this == ShapedOperation.this.target) ? ShapedOperation.this.situation : Situation.RETURNS;
			OperationVersion version = switch (now) {
				case STALE -> new OperationVersion(3, StalePolicy.SKIP);
				case STALE_REJECTED -> new OperationVersion(3, StalePolicy.REJECT);
				default -> null;
			};
			return new IdempotentOperation(this.key, this.listener, this.listener, ShapedOperation.this.mode,
					request((now == Situation.OTHER_CONTENT) ? "content" : null).fingerprint(), TestDatabase.LEASE,
					TestDatabase.RETENTION, null, version);
		}

		void begin(@Nullable IdempotencyRecord found) {
			this.before = found;
			this.counted = count();
			this.reported = reports().size();
			this.runs.clear();
		}

		void run() {
			this.runs.add(IdempotentExecution.currentBatch()
				.stream()
				.filter((execution) -> execution != null && execution.key().equals(this.key.value()))
				.map((execution) -> relative(execution.attempt(), execution.fence()))
				.findFirst()
				.orElse("no execution"));
			new JdbcTemplate(ShapedOperation.this.database).update("INSERT INTO effect VALUES (?)", this.key.value());
		}

		private String relative(int attempt, int fence) {
			IdempotencyRecord earlier = this.before;
			return relative(attempt) + " +" + (fence - ((earlier != null) ? earlier.fence() : 0));
		}

		private String relative(int attempt) {
			return "+" + (attempt - ((this.before != null) ? this.before.attempt() : 0));
		}

		Observation observe(String answer, @Nullable IdempotencyRecord after) {
			List<String> outcomes = new ArrayList<>();
			count().forEach((meter, count) -> {
				for (long i = this.counted.getOrDefault(meter, 0L); i < count; i++) {
					outcomes.add(meter);
				}
			});
			List<String> attempts = reports().stream()
				.skip(this.reported)
				.map((handled) -> (handled.attempt() != 0) ? relative(handled.attempt()) : "none")
				.toList();
			return new Observation(String.join(", ", outcomes),
					(after == null || after.equals(this.before)) ? "unchanged" : describe(after),
					String.join(", ", this.runs), String.valueOf(ShapedOperation.this.database.effects(this.key)),
					answer, "", String.join(", ", attempts));
		}

		private String describe(IdempotencyRecord now) {
			Failure failure = now.failure();
			return now.state() + " " + relative(now.attempt(), now.fence())
					+ ((failure != null) ? " " + failure.type().replaceAll(".*\\.|Exception$", "") : "")
					+ ((now.completedAt() != null) ? ShapedOperation.this.database.outcome(this.key) : "");
		}

		private Map<String, Long> count() {
			Map<String, Long> counts = new TreeMap<>();
			for (Meter meter : ShapedOperation.this.meters.getMeters()) {
				Meter.Id id = meter.getId();
				long count = (meter instanceof Timer timer) ? timer.count()
						: (meter instanceof Counter counter) ? (long) counter.count() : 0;
				if (this.listener.equals(id.getTag("listener"))) {
					String outcome = Objects.requireNonNullElse(id.getTag("outcome"), "");
					counts.put((id.getName() + " " + outcome).replaceAll("^idempotency.(process )?", "").strip(),
							count);
				}
			}
			return counts;
		}

		private List<HandledOperation> reports() {
			return ShapedOperation.this.observer.executions()
				.stream()
				.filter((handled) -> this.key.equals(handled.key()))
				.toList();
		}

	}

	/**
	 * Processes the items one after the other.
	 */
	private final class Handler implements BatchHandler<String> {

		private int failedAt = -1;

		@Override
		public List<@Nullable String> handle(List<Integer> due) throws Exception {
			List<@Nullable String> results = new ArrayList<>();
			this.failedAt = -1;
			for (int index : due) {
				try {
					results.add(ShapedOperation.this.handle(ShapedOperation.this.items.get(index)));
				}
				catch (Exception ex) {
					this.failedAt = ShapedOperation.this.shape.isUnknown ? -1 : results.size();
					throw ex;
				}
			}
			return results;
		}

		@Override
		public int failedAt(Throwable error) {
			return this.failedAt;
		}

		@Override
		public @Nullable OperationDeclinedException declinedBy(Throwable error) {
			return (error instanceof OperationDeclinedException declined) ? declined : null;
		}

	}

	/**
	 * Writes all results but one, and reads all but another one.
	 */
	private static final class Codec implements ResultCodec<String> {

		static final String UNWRITABLE = "unwritable";

		static final String UNREADABLE = "unreadable";

		@Override
		public byte @Nullable [] write(@Nullable String result) {
			if (UNWRITABLE.equals(result)) {
				throw new IllegalArgumentException("The result cannot be written");
			}
			return (result != null) ? result.getBytes(StandardCharsets.UTF_8) : null;
		}

		@Override
		public String read(byte[] bytes) {
			String result = new String(bytes, StandardCharsets.UTF_8);
			if (UNREADABLE.equals(result)) {
				throw new IllegalArgumentException("The result cannot be read");
			}
			return result;
		}

	}

	/**
	 * A database that can be down for an operation, but not for other owners and for the
	 * test.
	 */
	static final class Database extends DelegatingDataSource {

		private final TestDatabase real;

		private final IdempotencyStore store;

		private final IdempotencyAdmin admin;

		private final JdbcTransactionManager manager = new Manager();

		private volatile boolean down;

		private Runnable afterRollback = () -> {
		};

		Database(TestDatabase real) {
			super(real.pool());
			this.real = real;
			this.store = new JdbcIdempotencyStore(this, TestDatabase.TABLE, TestDatabase.TIMEOUT);
			this.admin = new IdempotencyTemplate(real.store(), new Settings(null, false, Observers.none())).admin();
			this.manager.setDataSource(this);
			real.jdbc().execute("CREATE TABLE IF NOT EXISTS effect (name varchar(100))");
		}

		@Override
		public Connection getConnection() throws SQLException {
			if (this.down) {
				throw new SQLTransientConnectionException("The database is down", "08001");
			}
			return super.getConnection();
		}

		private void claimElsewhere(ClaimRequest request) {
			one(this.real.store()).claim(request);
		}

		private void failElsewhere(ClaimRequest request) {
			claimElsewhere(request);
			one(this.real.store()).fail(request, new Failure("earlier", null));
		}

		private void completeElsewhere(ClaimRequest request) {
			this.real.endLease(request.key());
			claimElsewhere(request);
			one(this.real.store()).complete(request, "other".getBytes(StandardCharsets.UTF_8));
		}

		private String outcome(IdempotencyKey key) {
			return this.admin.outcome(key).map(Database::describe).orElse("");
		}

		private static String describe(StoredOutcome outcome) {
			byte[] result = outcome.result();
			return " = "
					+ (outcome.resultNotStored() ? "not stored"
							: brief((result != null) ? new String(result, StandardCharsets.UTF_8) : null))
					+ ((outcome.declineReason() != null) ? ", " + outcome.declineReason() : "");
		}

		private long effects(IdempotencyKey key) {
			return new JdbcTemplate(this.real.pool()).queryForObject("SELECT count(*) FROM effect WHERE name = ?",
					Long.class, key.value());
		}

		@SuppressWarnings("serial")
		private final class Manager extends JdbcTransactionManager {

			@Override
			protected void doCommit(DefaultTransactionStatus status) {
				if (Database.this.down) {
					super.doRollback(status);
					throw new TransactionSystemException("The database is down");
				}
				super.doCommit(status);
			}

			@Override
			protected void doRollback(DefaultTransactionStatus status) {
				super.doRollback(status);
				Runnable callback = Database.this.afterRollback;
				Database.this.afterRollback = () -> {
				};
				callback.run();
			}

		}

	}

}
