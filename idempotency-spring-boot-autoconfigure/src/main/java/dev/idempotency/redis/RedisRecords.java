/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.redis;

import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.function.BiPredicate;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.FilteredRecords;
import dev.idempotency.store.IdempotencyRecord;

/**
 * Shows and changes the records of Redis by hand. Redis keeps no order of expiry, so the
 * lists of stuck and failed records cannot be continued.
 *
 * @param connections the connections to the servers
 * @param scripts the scripts of a record
 */
record RedisRecords(LettuceConnections connections, RecordScripts scripts) implements FilteredRecords {

	@Override
	public Long estimate() {
		return this.connections.onConnection((commands, deadline) -> deadline.await(commands.dbsize()));
	}

	@Override
	public Page list(BiPredicate<IdempotencyRecord, Instant> condition, int limit, @Nullable String after) {
		if (after != null) {
			throw new IllegalArgumentException(
					"'after' is set, but Redis keeps no order of records. Call the list without 'after'");
		}
		Page found = scan(condition, limit + 1L, null);
		return new Page(found.records().stream().limit(limit).toList(),
				found.complete() && found.records().size() <= limit, null);
	}

	private Page scan(BiPredicate<IdempotencyRecord, Instant> condition, long most, @Nullable String after) {
		return this.connections.onConnection((commands, deadline) -> {
			List<IdempotencyRecord> found = new ArrayList<>();
			String next = new RecordScan(commands, this.scripts, deadline).scan(after, (scanned) -> {
				if (condition.test(scanned.record(), scanned.now())) {
					found.add(scanned.record());
				}
				return found.size() < most;
			});
			return new Page(found, next == null, next);
		});
	}

	@Override
	public Page evictable(Selection selection, boolean force, int limit, @Nullable String after) {
		return scan(
				(record, now) -> selection.matches(record.key(), record.createdAt()) && (force || !record.isLive(now)),
				limit, after);
	}

	@Override
	public Optional<byte[]> result(IdempotencyKey key) {
		return Optional.ofNullable(Replies.result(this.connections.run(this.scripts.result(key))));
	}

	@Override
	public Change release(IdempotencyKey key, boolean force) {
		return change(this.connections.run(this.scripts.release(key, force)));
	}

	@Override
	public Change evict(IdempotencyKey key, boolean force) {
		return change(this.connections.run(this.scripts.evict(key, force)));
	}

	@Override
	public int evictAll(Collection<IdempotencyKey> keys, boolean force) {
		return (int) this.connections.runAll(keys.stream().map((key) -> this.scripts.evict(key, force)).toList())
			.stream()
			.filter((reply) -> change(reply) == Change.DONE)
			.count();
	}

	private static Change change(byte[] reply) {
		return Change.valueOf(new String(reply, StandardCharsets.US_ASCII));
	}

}
