package dev.idempotency.redis;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Predicate;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.redis.Replies.ScannedRecord;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecords;

/**
 * Shows and changes the records of Redis by hand. Redis keeps no order of expiry, so the
 * lists of stuck and failed records cannot be continued.
 *
 * @param connections the connections to the servers
 * @param scripts the scripts of a record
 */
record RedisRecords(LettuceConnections connections, RecordScripts scripts) implements IdempotencyRecords {

	@Override
	public Overview overview() {
		return this.connections.onSharedConnection((commands, deadline) -> {
			Map<String, ScopeCount> scopes = new TreeMap<>();
			String end = new RecordScan(commands, this.scripts, deadline).scan(null, (scanned) -> {
				scopes.merge(scanned.record().key().scope(), ScopeCount.of(scanned.record(), scanned.now()),
						ScopeCount::plus);
				return true;
			});
			return new Overview(List.copyOf(scopes.values()), end == null,
					(end != null) ? deadline.await(commands.dbsize()) : null);
		});
	}

	@Override
	public Page stuck(int limit, @Nullable String after) {
		return list((scanned) -> scanned.record().isStuck(scanned.now()), limit, after);
	}

	@Override
	public Page failed(int limit, @Nullable String after) {
		return list((scanned) -> scanned.record().failure() != null, limit, after);
	}

	private Page list(Predicate<ScannedRecord> condition, int limit, @Nullable String after) {
		if (after != null) {
			throw new IllegalArgumentException(
					"'after' is set, but Redis keeps no order of records. Call the list without 'after'");
		}
		Page found = scan(condition, limit + 1L, null);
		return new Page(found.records().stream().limit(limit).toList(),
				found.complete() && found.records().size() <= limit, null);
	}

	private Page scan(Predicate<ScannedRecord> condition, long most, @Nullable String after) {
		return this.connections.onSharedConnection((commands, deadline) -> {
			List<IdempotencyRecord> found = new ArrayList<>();
			String next = new RecordScan(commands, this.scripts, deadline).scan(after, (scanned) -> {
				if (condition.test(scanned)) {
					found.add(scanned.record());
				}
				return found.size() < most;
			});
			return new Page(found, next == null, next);
		});
	}

	@Override
	public Page evictable(Selection selection, boolean force, int limit, @Nullable String after) {
		return scan((scanned) -> selection.matches(scanned.record().key(), scanned.record().createdAt())
				&& (force || !scanned.record().isLive(scanned.now())), limit, after);
	}

	@Override
	public Optional<byte[]> result(IdempotencyKey key) {
		return Optional.ofNullable(Replies.result(this.connections.run(this.scripts.result(key))));
	}

	@Override
	public Change release(IdempotencyKey key, boolean force) {
		return change(this.scripts.release(key, force));
	}

	@Override
	public Change evict(IdempotencyKey key, boolean force) {
		return change(this.scripts.evict(key, force));
	}

	@Override
	public int evictAll(Collection<IdempotencyKey> keys, boolean force) {
		return (int) this.connections.runAll(keys.stream().map((key) -> this.scripts.evict(key, force)).toList())
			.stream()
			.filter((reply) -> change(reply) == Change.DONE)
			.count();
	}

	private Change change(ScriptCall call) {
		return change(this.connections.run(call));
	}

	private static Change change(byte[] reply) {
		return Change.valueOf(new String(reply, StandardCharsets.US_ASCII));
	}

}
