/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.redis;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import io.lettuce.core.cluster.api.async.RedisAdvancedClusterAsyncCommands;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.data.redis.connection.convert.Converters;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.store.Deadline;

/**
 * Problems of the servers that endanger the protection: commands that they refuse to the
 * user of the store, and memory policies that evict keys.
 *
 * @param refused names of commands that the store needs and a server refuses
 * @param evicting memory policies by node, of nodes that may evict keys; the only server
 * outside a cluster has the name ""
 * @param policyHidden whether a node refuses to show its memory policy
 * @param keyPrefix common prefix of the keys
 * @param rule ACL rule that allows the commands that the store needs
 */
record ServerFindings(List<String> refused, Map<String, String> evicting, boolean policyHidden, String keyPrefix,
		String rule) {

	private static final Log logger = LogFactory.getLog(ServerFindings.class);

	// Redis also returns this code for a command that it does not know.
	private static final String UNKNOWN_COMMAND = "ERR";

	private static final String UNKNOWN_SCRIPT = "0".repeat(40);

	private static final String SECTION = "memory";

	// Check the servers. The required commands are sent to a key without a record,
	// because only the commands themselves show on every version whether they are
	// allowed: ACL DRYRUN needs a privilege of its own, and commands may be renamed.
	static ServerFindings read(RedisClusterAsyncCommands<byte[], byte[]> probing,
			RedisClusterAsyncCommands<byte[], byte[]> commands, String keyPrefix, boolean replicated, Deadline deadline)
			throws ExecutionException, TimeoutException {
		List<String> refused = refused(send(probing, probe(keyPrefix), replicated), deadline);
		Map<String, String> evicting = new TreeMap<>();
		boolean policyHidden = false;
		for (Map.Entry<String, Future<String>> info : sendInfo(commands).entrySet()) {
			policyHidden |= !readPolicy(info.getKey(), info.getValue(), deadline, evicting);
		}
		return new ServerFindings(refused, evicting, policyHidden, keyPrefix,
				"~" + keyPrefix + "* +evalsha +eval +get +set +pttl +time +info" + (replicated ? " +wait" : ""));
	}

	// No record has this name: those have 32 hexadecimal digits.
	static byte[] probe(String keyPrefix) {
		return (keyPrefix + "{check}").getBytes(StandardCharsets.US_ASCII);
	}

	private static Map<String, Future<?>> send(RedisClusterAsyncCommands<byte[], byte[]> commands, byte[] key,
			boolean replicated) {
		byte[][] keys = { key };
		Map<String, Future<?>> sent = new LinkedHashMap<>();
		sent.put("EVALSHA", commands.evalsha(UNKNOWN_SCRIPT, ScriptOutputType.VALUE, keys));
		sent.put("EVAL", commands.eval("return ''", ScriptOutputType.VALUE, keys));
		sent.put("GET", commands.get(key));
		// XX: sets nothing, because the key does not exist.
		sent.put("SET", commands.set(key, new byte[0], SetArgs.Builder.xx().px(1)));
		sent.put("PTTL", commands.pttl(key));
		sent.put("TIME", commands.time());
		if (replicated) {
			// Returns at once, because it waits for no replicas.
			sent.put("WAIT", commands.waitForReplication(0, 1));
		}
		return sent;
	}

	private static List<String> refused(Map<String, Future<?>> sent, Deadline deadline)
			throws ExecutionException, TimeoutException {
		List<String> refused = new ArrayList<>();
		boolean replica = false;
		for (Map.Entry<String, Future<?>> command : sent.entrySet()) {
			String code = errorCode(command.getValue(), deadline);
			replica |= "READONLY".equals(code);
			// A replica returns ERR also for WAIT, which works again after a failover.
			if (isRefusal(code) && !(replica && UNKNOWN_COMMAND.equals(code))) {
				refused.add(command.getKey());
			}
		}
		return refused;
	}

	private static @Nullable String errorCode(Future<?> reply, Deadline deadline)
			throws ExecutionException, TimeoutException {
		try {
			deadline.await(reply);
			return null;
		}
		catch (ExecutionException ex) {
			if (ex.getCause() instanceof RedisCommandExecutionException refusal) {
				return code(refusal);
			}
			throw ex;
		}
	}

	// Other errors, such as OOM and READONLY, are temporary.
	private static boolean isRefusal(@Nullable String code) {
		return "NOPERM".equals(code) || "NOAUTH".equals(code) || UNKNOWN_COMMAND.equals(code);
	}

	static @Nullable String code(RedisCommandExecutionException error) {
		String message = error.getMessage();
		return (message != null) ? message.split(" ", 2)[0] : null;
	}

	// To all nodes of a cluster, including replicas, which a failover promotes.
	private static Map<String, Future<String>> sendInfo(RedisClusterAsyncCommands<byte[], byte[]> commands) {
		Map<String, Future<String>> sent = new TreeMap<>();
		if (commands instanceof RedisAdvancedClusterAsyncCommands<byte[], byte[]> cluster) {
			cluster.all()
				.commands()
				.info(SECTION)
				.asMap()
				.forEach((node, info) -> sent.put(node.getUri().getHost() + ":" + node.getUri().getPort(), info));
		}
		else {
			sent.put("", commands.info(SECTION));
		}
		return sent;
	}

	// INFO is rarely forbidden, CONFIG often. A node that is down is ignored.
	private static boolean readPolicy(String node, Future<String> info, Deadline deadline,
			Map<String, String> evicting) {
		try {
			Properties memory = Converters.toProperties(deadline.await(info));
			String policy = memory.getProperty("maxmemory_policy", "noeviction");
			if (!memory.getProperty("maxmemory", "0").equals("0") && !policy.equals("noeviction")) {
				evicting.put(node, policy);
			}
			return true;
		}
		catch (ExecutionException | TimeoutException ex) {
			info.cancel(false);
			logger.debug("The memory policy of the Redis node '" + node + "' could not be read", ex);
			return !(ex.getCause() instanceof RedisCommandExecutionException refusal && isRefusal(code(refusal)));
		}
	}

	boolean isEvictionPossible() {
		return !this.evicting.isEmpty();
	}

	Optional<IdempotencyConfigurationException> refusal() {
		return this.refused.isEmpty() ? Optional.empty()
				: Optional.of(new IdempotencyConfigurationException(
						"Redis refuses " + String.join(", ", this.refused) + " on keys that begin with '"
								+ this.keyPrefix + "' to the user of the idempotency store.",
						"Allow it with 'ACL SETUSER <user> " + this.rule + "'."));
	}

	Optional<IdempotencyConfigurationException> eviction() {
		if (isEvictionPossible()) {
			String nodes = this.evicting.containsKey("") ? "" : " (" + String.join(", ", this.evicting.keySet()) + ")";
			return Optional.of(new IdempotencyConfigurationException("Redis" + nodes + " has the memory policy '"
					+ String.join("', '", new TreeSet<>(this.evicting.values()))
					+ "'. When its memory is full, it evicts idempotency records before their retention ends, "
					+ "and their operations run again.", "Set 'maxmemory-policy' to 'noeviction'."));
		}
		return this.policyHidden ? Optional.of(new IdempotencyConfigurationException(
				"Redis refuses INFO to the user of the idempotency store, so the store cannot check whether "
						+ "Redis evicts idempotency records when its memory is full.",
				"Allow it with 'ACL SETUSER <user> +info'.")) : Optional.empty();
	}

	Optional<String> describe() {
		return Stream.concat(refusal().stream(), eviction().stream())
			.map(ServerFindings::describe)
			.reduce((one, other) -> one + " " + other);
	}

	static String describe(IdempotencyConfigurationException finding) {
		return finding.getMessage() + " " + finding.action();
	}

}
