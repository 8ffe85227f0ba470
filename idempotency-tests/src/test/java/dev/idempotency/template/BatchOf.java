/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.StalePolicy;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.BatchHandler.BatchResult;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.testsupport.RecordingObserver;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;
import dev.idempotency.testsupport.UnreliableStore;

import static dev.idempotency.contract.OneKey.one;

/**
 * Batches of single letters: each letter is a key. {@code "a b | c"} has two lanes, and
 * {@code -} is an item without protection. {@code a3} is version 3 of the key {@code a};
 * {@code a3!} is rejected if it is stale.
 */
final class BatchOf {

	private final TestDatabase database;

	private final Mode mode;

	private final String scope = Servers.unique("scope");

	private final RecordingObserver listener = new RecordingObserver();

	private final UnreliableStore store;

	private final IdempotencyTemplate template;

	private final JdbcTemplate jdbc;

	private final List<String> runs = new CopyOnWriteArrayList<>();

	BatchOf(TestDatabase database, Mode mode, boolean failOpen) {
		this.database = database;
		this.mode = mode;
		this.store = new UnreliableStore(database.store());
		this.jdbc = new JdbcTemplate(database.pool());
		this.template = (mode == Mode.LEASED)
				? new IdempotencyTemplate(this.store, new Settings(null, failOpen, this.listener.observers()))
				: new IdempotencyTemplate(database.store(),
						new Settings(new JdbcTransactionManager(database.pool()), failOpen, this.listener.observers()));
	}

	static TestDatabase createDatabase() {
		TestDatabase database = TestDatabase.create();
		database.jdbc().execute("CREATE TABLE effect (scope varchar(100), letter varchar(100))");
		return database;
	}

	IdempotencyTemplate template() {
		return this.template;
	}

	UnreliableStore store() {
		return this.store;
	}

	IdempotencyKey key(String letter) {
		return IdempotencyKey.of(this.scope, letter);
	}

	IdempotencyRecord record(String letter) {
		return this.database.record(key(letter));
	}

	/**
	 * Claim a key for another owner.
	 * @param letter the key
	 * @return the claim
	 */
	ClaimRequest hold(String letter) {
		ClaimRequest request = TestDatabase.request(key(letter));
		one(this.database.store()).claim(request);
		return request;
	}

	void complete(String letter, String result) {
		one(this.database.store()).complete(hold(letter), new TextCodec().write(result));
	}

	List<BatchItem> items(String letters) {
		List<BatchItem> items = new ArrayList<>();
		int lane = 0;
		for (String letter : letters.split(" ")) {
			if (letter.equals("|")) {
				lane++;
			}
			else {
				items.add(new BatchItem(letter.equals("-") ? null : operation(letter), lane));
			}
		}
		return items;
	}

	private IdempotentOperation operation(String letter) {
		String version = letter.substring(1).replace("!", "");
		IdempotencyKey key = key(letter.substring(0, 1));
		return version.isEmpty() ? TestDatabase.operation(key, this.mode) : TestDatabase.operation(key, this.mode,
				Long.parseLong(version), letter.endsWith("!") ? StalePolicy.REJECT : StalePolicy.SKIP);
	}

	BatchResult<String> run(String letters) {
		return run(letters, (seen) -> null);
	}

	/**
	 * Run a batch whose handler has an effect for each item.
	 * @param letters the batch
	 * @param failure returns the exception that the handler throws at the end, if any;
	 * {@code IndexFailure} names the failed item
	 * @return the result of the batch
	 */
	BatchResult<String> run(String letters, Function<List<String>, @Nullable Exception> failure) {
		return run(letters, TransactionBoundary.DEFAULT, failure);
	}

	BatchResult<String> run(String letters, TransactionBoundary boundary,
			Function<List<String>, @Nullable Exception> failure) {
		List<String> all = Arrays.stream(letters.split(" ")).filter((letter) -> !letter.equals("|")).toList();
		return this.template.executeAll(items(letters), this.mode, new TextCodec(), boundary,
				new BatchHandler<String>() {

					@Override
					public List<@Nullable String> handle(List<Integer> due) throws Exception {
						List<String> seen = due.stream().map(all::get).toList();
						BatchOf.this.runs.add(String.join(" ", seen));
						seen.forEach((letter) -> effect(letter));
						Exception error = failure.apply(seen);
						if (error != null) {
							throw error;
						}
						return seen.stream().<@Nullable String>map((letter) -> "result " + letter).toList();
					}

					@Override
					public int failedAt(Throwable error) {
						return (error instanceof IndexFailure index) ? index.index : -1;
					}

					@Override
					public @Nullable OperationDeclinedException declinedBy(Throwable error) {
						return (error.getCause() instanceof OperationDeclinedException declined) ? declined : null;
					}

				});
	}

	private void effect(String letter) {
		this.jdbc.update("INSERT INTO effect VALUES (?, ?)", this.scope, letter);
	}

	/**
	 * Return the committed effects.
	 * @return their letters
	 */
	List<String> effects() {
		return this.database.jdbc()
			.queryForList("SELECT letter FROM effect WHERE scope = ? ORDER BY letter", String.class, this.scope);
	}

	List<String> runs() {
		return this.runs;
	}

	List<Outcome> outcomes() {
		return this.listener.outcomes();
	}

	List<String> storeCalls() {
		return this.listener.storeCalls();
	}

	/**
	 * Describe each item: its result, in brackets if it is a duplicate's, a tilde if it
	 * is stale, or a dash if the item is redelivered.
	 * @param executed the result of a batch
	 * @return a text
	 */
	static String text(BatchResult<String> executed) {
		return String.join(" ",
				executed.results().stream().map(BatchOf::text).map((text) -> text.replace("result ", "")).toList());
	}

	private static String text(@Nullable IdempotentResult<String> one) {
		if (one == null) {
			return "-";
		}
		return one.stale() ? "~" : one.duplicate() ? "[" + one.result() + "]" : String.valueOf(one.result());
	}

	/**
	 * A failure at the position of an item.
	 */
	@SuppressWarnings("serial")
	static final class IndexFailure extends Exception {

		private final int index;

		IndexFailure(int index) {
			this(index, null);
		}

		IndexFailure(int index, @Nullable Throwable cause) {
			super("no. " + index, cause);
			this.index = index;
		}

		int index() {
			return this.index;
		}

	}

}
