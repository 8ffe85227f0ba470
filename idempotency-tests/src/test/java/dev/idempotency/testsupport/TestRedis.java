/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.redis.RedisIdempotencyStore;
import dev.idempotency.store.IdempotencyRecord;

import static dev.idempotency.contract.OneKey.one;
import static org.awaitility.Awaitility.await;

/**
 * A Redis server with a store.
 */
public final class TestRedis implements AfterAllCallback, AutoCloseable {

	/**
	 * How exactly Redis reports the end of a retention. A script reads the clock and the
	 * remaining time one after the other, and a busy machine may pause it in between.
	 */
	public static final Duration PRECISION_OF_THE_END = Duration.ofMillis(200);

	public static final String PREFIX = "test:";

	public static final Duration TIMEOUT = Duration.ofSeconds(2);

	private static final Pattern LEASE = Pattern.compile("^(?<head>idem1 P \\S+ \\d+ \\d+ )\\d+ ");

	private final LettuceConnectionFactory factory;

	private final RedisIdempotencyStore store;

	private final RedisClient client;

	private final RedisCommands<byte[], byte[]> commands;

	private TestRedis(RedisServer server) {
		this.factory = factory(server);
		this.store = store(this.factory, 0);
		awaitContact(this.store);
		this.client = RedisClient.create(RedisURI.create(server.host(), server.port()));
		this.commands = this.client.connect(ByteArrayCodec.INSTANCE).sync();
	}

	/**
	 * Create a store on the shared server.
	 * @return the store and its resources
	 */
	public static TestRedis create() {
		return new TestRedis(Servers.redis());
	}

	public static TestRedis create(RedisServer server) {
		return new TestRedis(server);
	}

	public static LettuceConnectionFactory factory(RedisServer server) {
		return started(new LettuceConnectionFactory(server.host(), server.port()));
	}

	public static LettuceConnectionFactory started(LettuceConnectionFactory factory) {
		factory.afterPropertiesSet();
		return factory;
	}

	public static RedisIdempotencyStore store(LettuceConnectionFactory factory, int replicas) {
		return new RedisIdempotencyStore(factory, PREFIX, replicas, TIMEOUT);
	}

	/**
	 * Wait for the first connection, which is slow on a busy machine.
	 * @param store the store that is connected
	 */
	public static void awaitContact(RedisIdempotencyStore store) {
		await().atMost(Duration.ofSeconds(30)).ignoreExceptions().untilAsserted(store::ping);
	}

	public LettuceConnectionFactory factory() {
		return this.factory;
	}

	public RedisIdempotencyStore store() {
		return this.store;
	}

	/**
	 * Return commands on a separate connection.
	 * @return the commands
	 */
	public RedisCommands<byte[], byte[]> commands() {
		return this.commands;
	}

	public IdempotencyRecord record(IdempotencyKey key) {
		return one(this.store).find(key).orElseThrow();
	}

	public static String name(IdempotencyKey key) {
		return PREFIX + "{" + key.id().toString().replace("-", "") + "}";
	}

	public static byte[] bytes(IdempotencyKey key) {
		return name(key).getBytes(StandardCharsets.ISO_8859_1);
	}

	/**
	 * Return the value under a key.
	 * @param key the key
	 * @return the value, one character for each byte, {@code null} if there is none
	 */
	public String value(IdempotencyKey key) {
		byte[] value = this.commands.get(bytes(key));
		return (value != null) ? new String(value, StandardCharsets.ISO_8859_1) : null;
	}

	public void set(IdempotencyKey key, String value) {
		this.commands.set(bytes(key), value.getBytes(StandardCharsets.ISO_8859_1));
	}

	public long timeToLive(IdempotencyKey key) {
		return this.commands.pttl(bytes(key));
	}

	/**
	 * Let the lease of a claim expire.
	 * @param key its key
	 */
	public void endLease(IdempotencyKey key) {
		long left = timeToLive(key);
		Matcher matcher = LEASE.matcher(value(key));
		set(key, matcher.replaceFirst("${head}1 "));
		this.commands.pexpire(bytes(key), left);
	}

	// As an extension it lives as long as its test class.
	@Override
	public void afterAll(ExtensionContext context) {
		close();
	}

	@Override
	public void close() {
		this.store.close();
		this.factory.destroy();
		this.client.shutdown();
	}

}
