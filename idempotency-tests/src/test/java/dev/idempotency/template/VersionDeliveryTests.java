/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.StalePolicy;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.BatchHandler.BatchResult;
import dev.idempotency.template.BatchOf.IndexFailure;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for versions in batches that are delivered at random, as a container does it:
 * records are redelivered from the first one of their partition that is not done, and a
 * record that has failed twice is given up. Other owners hold some of the keys.
 */
@Tag("promise-1")
@Tag("promise-3")
class VersionDeliveryTests {

	private static final int RUNS = Integer.getInteger("test.version.deliveries", 25);

	private static final int PARTITIONS = 2;

	private static final int RECORDS = 25;

	private static final int KEYS = 3;

	private static final int VERSIONS = 12;

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private final String scope = Servers.unique("deliveries");

	private final JdbcTemplate jdbc = new JdbcTemplate(database.pool());

	private final IdempotencyTemplate template = new IdempotencyTemplate(database.store(),
			new Settings(new JdbcTransactionManager(database.pool()), false, Observers.none()));

	private final List<List<Sent>> partitions = new ArrayList<>();

	private final int[] positions = new int[PARTITIONS];

	private final Map<Sent, Integer> failures = new HashMap<>();

	private final Set<Sent> lasting = new HashSet<>();

	private final Set<Sent> givenUp = new HashSet<>();

	@ParameterizedTest
	@EnumSource(names = { "LEASED", "TRANSACTIONAL" })
	void versionsOnlyGrowAndNoneIsLost(Mode mode) {
		database.jdbc()
			.execute("CREATE TABLE IF NOT EXISTS applied (scope text, key text, version bigint, number serial)");
		for (int run = 0; run < RUNS; run++) {
			long seed = System.nanoTime();
			String prefix = "run" + run + "-";
			List<String> log = new ArrayList<>();
			deliver(mode, new Random(seed), prefix, log);
			for (int key = 0; key < KEYS; key++) {
				String name = prefix + key;
				List<Long> applied = database.jdbc()
					.queryForList("SELECT version FROM applied WHERE scope = ? AND key = ? ORDER BY number", Long.class,
							this.scope, name);
				String description = "seed " + seed + ", key " + name + ":\n" + String.join("\n", log);
				assertThat(applied).as(description).isSorted().doesNotHaveDuplicates();
				long last = applied.isEmpty() ? -1 : applied.get(applied.size() - 1);
				this.partitions.stream()
					.flatMap(List::stream)
					.filter((record) -> record.key().equals(name) && !this.givenUp.contains(record))
					.forEach((record) -> assertThat(last).as(description).isGreaterThanOrEqualTo(record.version()));
			}
		}
	}

	private void deliver(Mode mode, Random random, String prefix, List<String> log) {
		this.partitions.clear();
		this.failures.clear();
		this.lasting.clear();
		this.givenUp.clear();
		for (int partition = 0; partition < PARTITIONS; partition++) {
			List<Sent> records = new ArrayList<>();
			for (int offset = 0; offset < RECORDS; offset++) {
				Sent record = new Sent(partition, offset, prefix + random.nextInt(KEYS), random.nextInt(VERSIONS));
				records.add(record);
				if (random.nextInt(8) == 0) {
					int times = 1 + random.nextInt(3);
					this.failures.put(record, times);
					if (times == 3) {
						this.lasting.add(record);
					}
				}
			}
			this.partitions.add(records);
			this.positions[partition] = 0;
		}
		for (int deliveries = 0; left() > 0; deliveries++) {
			assertThat(deliveries).as(String.join("\n", log)).isLessThan(2000);
			deliverOnce(mode, random, prefix, log);
		}
	}

	private int left() {
		int left = 0;
		for (int partition = 0; partition < PARTITIONS; partition++) {
			left += RECORDS - this.positions[partition];
		}
		return left;
	}

	private void deliverOnce(Mode mode, Random random, String prefix, List<String> log) {
		List<Sent> batch = new ArrayList<>();
		for (int partition = 0; partition < PARTITIONS; partition++) {
			int from = this.positions[partition];
			batch.addAll(this.partitions.get(partition).subList(from, Math.min(RECORDS, from + random.nextInt(7))));
		}
		ClaimRequest other = (random.nextInt(5) == 0) ? hold(prefix + random.nextInt(KEYS)) : null;
		boolean whole = random.nextInt(10) == 0;
		List<BatchItem> items = batch.stream()
			.map((record) -> new BatchItem(operation(record, mode), record.partition()))
			.toList();
		BatchResult<Object> result = this.template.executeAll(items, mode, ResultCodec.none(),
				TransactionBoundary.DEFAULT, new Handler(batch, whole));
		log.add(batch + ((other != null) ? " while " + other.key().value() + " is held" : "") + (whole ? ", fails" : "")
				+ " -> failed " + result.failedAt() + ", blocked " + result.blocked().keySet());
		if (other != null) {
			one(database.store()).release(other);
		}
		commit(batch, result, log);
	}

	// As the container commits and seeks.
	private void commit(List<Sent> batch, BatchResult<Object> result, List<String> log) {
		boolean[] stopped = new boolean[PARTITIONS];
		for (int index = 0; index < batch.size(); index++) {
			Sent record = batch.get(index);
			boolean done = result.results().get(index) != null;
			if (result.blocked().isEmpty()) {
				boolean before = result.failure() == null || index < result.failedAt();
				assertThat(done || !before).as("record " + index + " is acknowledged:\n" + String.join("\n", log))
					.isTrue();
				done = before;
				if (index == result.failedAt()) {
					done = hasFailed(record);
				}
			}
			stopped[record.partition()] |= !done;
			if (!stopped[record.partition()]) {
				this.positions[record.partition()] = record.offset() + 1;
			}
		}
	}

	// A record that is to fail three times is given up after the second failure.
	private boolean hasFailed(Sent record) {
		int left = this.failures.merge(record, -1, Integer::sum);
		if (left == 1 && this.lasting.contains(record)) {
			this.givenUp.add(record);
			return true;
		}
		return false;
	}

	private IdempotentOperation operation(Sent record, Mode mode) {
		return TestDatabase.operation(IdempotencyKey.of(this.scope, record.key()), mode, record.version(),
				StalePolicy.SKIP);
	}

	private @Nullable ClaimRequest hold(String key) {
		ClaimRequest request = new ClaimRequest(IdempotencyKey.of(this.scope, key), UUID.randomUUID(), null,
				TestDatabase.LEASE, TestDatabase.RETENTION, Long.MAX_VALUE);
		one(database.store()).claim(request);
		return request;
	}

	private record Sent(int partition, int offset, String key, long version) {

		@Override
		public String toString() {
			return this.partition + "@" + this.offset + " " + this.key + " v" + this.version;
		}

	}

	/**
	 * Applies versions one after the other.
	 */
	private final class Handler implements BatchHandler<Object> {

		private final List<Sent> batch;

		private final boolean whole;

		Handler(List<Sent> batch, boolean whole) {
			this.batch = batch;
			this.whole = whole;
		}

		@Override
		public @Nullable List<@Nullable Object> handle(List<Integer> due) throws Exception {
			if (this.whole) {
				throw new IllegalStateException("The whole batch fails");
			}
			for (int i = 0; i < due.size(); i++) {
				Sent record = this.batch.get(due.get(i));
				if (VersionDeliveryTests.this.failures.getOrDefault(record, 0) > 0) {
					throw new IndexFailure(i);
				}
				VersionDeliveryTests.this.jdbc.update("INSERT INTO applied (scope, key, version) VALUES (?, ?, ?)",
						VersionDeliveryTests.this.scope, record.key(), record.version());
			}
			return null;
		}

		@Override
		public int failedAt(Throwable error) {
			return (error instanceof IndexFailure failure) ? failure.index() : -1;
		}

	}

}
