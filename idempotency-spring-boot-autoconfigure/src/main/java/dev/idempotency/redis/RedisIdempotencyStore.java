/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.redis;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import org.jspecify.annotations.Nullable;
import org.springframework.context.Lifecycle;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.redis.Replies.ScannedRecord;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Deadline;
import dev.idempotency.store.Ending;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.IdempotencyStore.CompletionAndClaim;
import dev.idempotency.store.IdempotencyStore.Settlement;

/**
 * The store in Redis 6 or later: standalone, with Sentinel, or a cluster. Each transition
 * of a record is one Lua script on one key, in one round trip.
 * <p>
 * The time to live of a Redis key is the retention, counted from the claim. The lease is
 * part of the value, so that fencing tokens outlive it. The settlement of a record that
 * Redis has removed is {@link Settlement#FORGOTTEN}.
 *
 * @since 0.1.0
 */
public final class RedisIdempotencyStore implements IdempotencyStore, AutoCloseable {

	private static final IdempotencyKey PING = IdempotencyKey.of("idempotency", "ping");

	private final LettuceConnections connections;

	private final RecordScripts scripts;

	private final RedisRecords records;

	private final @Nullable ReplicatedConnection replicated;

	private final Duration timeout;

	private volatile @Nullable String warning;

	/**
	 * Create a store. It connects at its first call.
	 * @param factory the connection factory
	 * @param keyPrefix common prefix of the keys; 1 to 200 printable ASCII characters
	 * without spaces and braces
	 * @param replicas number of replicas that must confirm a completion, 0 or more
	 * @param timeout timeout of a call, 100 ms or more
	 * @throws IdempotencyConfigurationException if an argument is out of its range
	 */
	public RedisIdempotencyStore(LettuceConnectionFactory factory, String keyPrefix, int replicas, Duration timeout) {
		Deadline.requireTimeout(timeout);
		IdempotencyConfigurationException.check(replicas >= 0, "'idempotency.redis.replicas' is " + replicas + ".",
				"Set 'idempotency.redis.replicas' to the number of replicas that must confirm a completion, or to 0.");
		this.scripts = new RecordScripts(keyPrefix);
		this.connections = new LettuceConnections(factory, timeout);
		this.records = new RedisRecords(this.connections, this.scripts);
		this.replicated = (replicas > 0) ? new ReplicatedConnection(factory, replicas, timeout) : null;
		this.timeout = timeout;
	}

	@Override
	public String name() {
		return "redis";
	}

	/**
	 * Whether another store has the same records.
	 * @param other the other store
	 * @return whether both use the same prefix on the same server
	 */
	public boolean hasSameRecords(RedisIdempotencyStore other) {
		return this.scripts.prefix().equals(other.scripts.prefix()) && this.connections.isSameServer(other.connections);
	}

	@Override
	public Settlement restore(ClaimRequest claim, Claim.Acquired acquired) {
		return Replies.settlement(this.connections.run(this.scripts.restore(claim, acquired)));
	}

	@Override
	public List<Settlement> renew(List<ClaimRequest> claims) {
		return settlements(runAll(claims, this.scripts::renew));
	}

	@Override
	public List<Claim> claim(List<ClaimRequest> requests) {
		List<byte[]> replies = runAll(requests, this.scripts::claim);
		return IntStream.range(0, replies.size())
			.mapToObj((i) -> Replies.claim(requests.get(i), replies.get(i)))
			.toList();
	}

	// The replicas also confirm the other endings of a call that has a completion.
	@Override
	public List<Settlement> settle(List<Ending> endings) {
		ReplicatedConnection replicated = this.replicated;
		if (replicated == null || endings.stream().noneMatch(Ending.Completed.class::isInstance)) {
			return settlements(runAll(endings, this.scripts::settle));
		}
		List<ScriptCall> calls = endings.stream().map(this.scripts::settle).toList();
		return settlements(
				LettuceConnections.withDeadline(this.timeout, (deadline) -> replicated.run(calls, deadline)));
	}

	// The confirmation of the replicas needs a connection of its own.
	@Override
	public boolean supportsClaimAhead() {
		return this.replicated == null;
	}

	@Override
	public CompletionAndClaim completeAndClaim(Ending.Completed completed, ClaimRequest next) {
		if (this.replicated != null) {
			return IdempotencyStore.super.completeAndClaim(completed, next);
		}
		List<byte[]> replies = this.connections
			.runAll(List.of(this.scripts.settle(completed), this.scripts.claim(next)));
		return new CompletionAndClaim(Replies.settlement(replies.get(0)), Replies.claim(next, replies.get(1)));
	}

	@Override
	public Claim lookUp(ClaimRequest request) {
		return Replies.claim(request, this.connections.run(this.scripts.lookUp(request)));
	}

	@Override
	public Map<IdempotencyKey, IdempotencyRecord> find(Collection<IdempotencyKey> keys) {
		return runAll(keys.stream().distinct().toList(), this.scripts::find).stream()
			.map(Replies::scanned)
			.filter(Objects::nonNull)
			.map(ScannedRecord::record)
			.collect(Collectors.toMap(IdempotencyRecord::key, Function.identity()));
	}

	@Override
	public Optional<IdempotencyRecords> records() {
		return Optional.of(this.records);
	}

	@Override
	public void ping() {
		find(List.of(PING));
	}

	/**
	 * The findings of the {@linkplain #serverCheck server check}: servers that may evict
	 * keys, or that refuse a command that the store needs.
	 */
	@Override
	public Optional<String> warning() {
		return Optional.ofNullable(this.warning);
	}

	/**
	 * Create a check that the servers allow the commands that the store needs and do not
	 * evict keys. Once started, it runs every five minutes, and soon after each new
	 * connection, for example after a failover.
	 * <p>
	 * At the start, a refused command fails the start with an
	 * {@link IdempotencyConfigurationException}. If eviction is to be refused, a policy
	 * that evicts keys or cannot be read also fails the start. Later, findings are
	 * logged, reported to the callback and returned by {@link #warning()}; consumption
	 * continues. A server that is unavailable at the start is checked later.
	 * @param refuseEviction whether the start fails if a server may evict keys or refuses
	 * to show its memory policy
	 * @param evictionCallback called after each check with whether a server may evict
	 * keys
	 * @return the check, to be started after the connection factory and before the
	 * listener containers
	 */
	public Lifecycle serverCheck(boolean refuseEviction, Consumer<Boolean> evictionCallback) {
		return new RedisServerCheck(this, refuseEviction, evictionCallback, RedisServerCheck.INTERVAL);
	}

	void warn(@Nullable String warning) {
		this.warning = warning;
	}

	ServerFindings inspect(@Nullable Duration limit) {
		String keyPrefix = this.scripts.prefix();
		ReplicatedConnection replicated = this.replicated;
		return this.connections.onConnection((limit != null) ? limit : this.timeout, (commands, deadline) -> {
			RedisClusterAsyncCommands<byte[], byte[]> probing = (replicated != null)
					? replicated.connection(ServerFindings.probe(keyPrefix), deadline).async() : commands;
			return ServerFindings.read(probing, commands, keyPrefix, replicated != null, deadline);
		});
	}

	void onConnected(Runnable callback) {
		this.connections.onConnected(callback);
	}

	@Override
	public void close() {
		this.connections.close();
		if (this.replicated != null) {
			this.replicated.close();
		}
	}

	private static List<Settlement> settlements(List<byte[]> replies) {
		return replies.stream().map(Replies::settlement).toList();
	}

	private <T> List<byte[]> runAll(List<T> elements, Function<T, ScriptCall> script) {
		return this.connections.runAll(elements.stream().map(script).toList());
	}

}
