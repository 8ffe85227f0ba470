/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.redis;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import io.lettuce.core.KeyScanCursor;
import io.lettuce.core.ScanArgs;
import io.lettuce.core.ScanCursor;
import io.lettuce.core.api.async.RedisKeyAsyncCommands;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.api.async.RedisAdvancedClusterAsyncCommands;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.util.Assert;

import dev.idempotency.IdempotencyRecordUnreadableException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.redis.Replies.ScannedRecord;
import dev.idempotency.store.Deadline;
import dev.idempotency.store.IdempotencyRecords;

/**
 * Scans the keys of a server, or of all masters of a cluster one after the other. A scan
 * ends when all keys have been scanned, when the visitor has enough, after
 * {@value IdempotencyRecords#WINDOW} records, or when half of the timeout has passed.
 *
 * @param commands the commands of the shared connection
 * @param scripts the scripts of a record
 * @param deadline the end of the call
 */
record RecordScan(RedisClusterAsyncCommands<byte[], byte[]> commands, RecordScripts scripts, Deadline deadline) {

	private static final Log logger = LogFactory.getLog(RecordScan.class);

	private static final int STEP = 500;

	private static final Pattern POSITION = Pattern.compile("(?:(\\w+):)?(\\d{1,20})");

	@Nullable String scan(@Nullable String after, Predicate<ScannedRecord> visitor) throws ExecutionException, TimeoutException {
		// A prefix cannot contain a brace, see RecordScripts.
		ScanArgs arguments = ScanArgs.Builder.limit(STEP)
			.match(this.scripts.prefix().replaceAll("([\\\\*?\\[\\]^-])", "\\\\$1") + "{*", StandardCharsets.US_ASCII);
		List<String> nodes = nodes();
		int node = 0;
		ScanCursor cursor = ScanCursor.INITIAL;
		if (after != null) {
			Matcher position = POSITION.matcher(after);
			node = position.matches() ? nodes.indexOf(Objects.requireNonNullElse(position.group(1), "")) : -1;
			Assert.isTrue(node >= 0,
					() -> "'after' is '" + after
							+ "', which is not the end of a page, or its node has left the cluster. "
							+ "Use 'next' of the previous answer, or begin without 'after'");
			cursor = ScanCursor.of(position.group(2));
		}
		Set<ByteBuffer> known = new HashSet<>();
		Deadline end = this.deadline.middle();
		while (true) {
			KeyScanCursor<byte[]> step = this.deadline.await(commands(nodes.get(node)).scan(cursor, arguments));
			// SCAN may return the same key several times.
			List<byte[]> newNames = step.getKeys().stream().filter((name) -> known.add(ByteBuffer.wrap(name))).toList();
			boolean enough = !visit(newNames, visitor) || end.isOver() || known.size() >= IdempotencyRecords.WINDOW;
			cursor = step;
			if (step.isFinished()) {
				node++;
				cursor = ScanCursor.INITIAL;
			}
			if (node == nodes.size()) {
				return null;
			}
			if (enough) {
				return (nodes.get(node).isEmpty() ? "" : nodes.get(node) + ":") + cursor.getCursor();
			}
		}
	}

	// A server without a cluster is a node without a name. The ReadFrom setting of the
	// client is ignored: a cursor is valid on one node, and a replica may lag behind.
	private List<String> nodes() {
		StatefulRedisClusterConnection<byte[], byte[]> cluster = cluster();
		if (cluster == null) {
			return List.of("");
		}
		List<String> masters = cluster.getPartitions()
			.stream()
			.filter((node) -> node.is(RedisClusterNode.NodeFlag.UPSTREAM))
			.map(RedisClusterNode::getNodeId)
			.sorted()
			.toList();
		if (masters.isEmpty()) {
			throw new IdempotencyStoreUnavailableException("The topology of the Redis cluster contains no master",
					null);
		}
		return masters;
	}

	private RedisKeyAsyncCommands<byte[], byte[]> commands(String node) throws ExecutionException, TimeoutException {
		StatefulRedisClusterConnection<byte[], byte[]> cluster = cluster();
		return (cluster != null) ? this.deadline.await(cluster.getConnectionAsync(node)).async() : this.commands;
	}

	private @Nullable StatefulRedisClusterConnection<byte[], byte[]> cluster() {
		return (this.commands instanceof RedisAdvancedClusterAsyncCommands<byte[], byte[]> advanced)
				? advanced.getStatefulConnection() : null;
	}

	private boolean visit(List<byte[]> names, Predicate<ScannedRecord> visitor)
			throws ExecutionException, TimeoutException {
		List<ScriptCall.Sent> calls = ScriptCall.sendAll(names.stream().map(this.scripts::find).toList(),
				this.commands);
		try {
			boolean further = true;
			for (ScriptCall.Sent call : calls) {
				try {
					ScannedRecord scanned = Replies.scanned(call.await(this.deadline));
					further &= scanned == null || visitor.test(scanned);
				}
				catch (IdempotencyRecordUnreadableException ex) {
					logger.debug("An unreadable record was left out", ex);
				}
			}
			return further;
		}
		finally {
			calls.forEach(ScriptCall.Sent::cancel);
		}
	}

}
