/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.cluster.SlotHash;

import static org.awaitility.Awaitility.await;

/**
 * Three masters, each with a replica, that fail over about four seconds after one is
 * lost.
 */
public final class RedisCluster implements AutoCloseable {

	private static final int MASTERS = 3;

	private static final Duration READY = Duration.ofSeconds(30);

	private final List<RedisProcess> nodes;

	public RedisCluster() {
		this.nodes = IntStream.range(0, 2 * MASTERS).mapToObj((i) -> node()).toList();
		try (RedisClient client = RedisClient.create()) {
			build(this.nodes.stream()
				.map((node) -> client.connect(RedisURI.create(node.host(), node.port())).sync())
				.toList());
		}
	}

	private static RedisProcess node() {
		return RedisProcess.create(Ports.free(), "--cluster-enabled", "yes", "--cluster-node-timeout", "2000",
				"--cluster-replica-validity-factor", "0");
	}

	private void build(List<RedisCommands<String, String>> nodes) {
		for (int i = 0; i < nodes.size(); i++) {
			nodes.get(i).clusterSetConfigEpoch(i + 1);
			nodes.get(0).clusterMeet(this.nodes.get(i).host(), this.nodes.get(i).port());
		}
		for (int i = 0; i < MASTERS; i++) {
			nodes.get(i).clusterAddSlots(slots(i));
		}
		await().atMost(READY)
			.until(() -> nodes.stream()
				.allMatch((node) -> node.clusterNodes().lines().count() == nodes.size()
						&& !node.clusterNodes().contains("handshake")));
		for (int i = 0; i < MASTERS; i++) {
			nodes.get(MASTERS + i).clusterReplicate(nodes.get(i).clusterMyId());
		}
		await().atMost(READY)
			.until(() -> nodes.stream().allMatch((node) -> node.clusterInfo().contains("cluster_state:ok"))
					&& nodes.subList(MASTERS, nodes.size())
						.stream()
						.allMatch((node) -> node.info("replication").contains("master_link_status:up"))
					&& nodes.stream()
						.allMatch((node) -> node.clusterNodes()
							.lines()
							.filter((line) -> line.contains("slave"))
							.count() == MASTERS));
	}

	private static int[] slots(int master) {
		return IntStream.range(SlotHash.SLOT_COUNT * master / MASTERS, SlotHash.SLOT_COUNT * (master + 1) / MASTERS)
			.toArray();
	}

	/**
	 * Return the servers, beginning with the initial masters.
	 * @return the servers
	 */
	public List<RedisProcess> nodes() {
		return this.nodes;
	}

	/**
	 * Return the server that was initially the master of a key.
	 * @param key the name of the key
	 * @return the server
	 */
	public RedisProcess masterOf(String key) {
		int slot = SlotHash.getSlot(key);
		return this.nodes.get(IntStream.range(0, MASTERS)
			.filter((i) -> slot < SlotHash.SLOT_COUNT * (i + 1) / MASTERS)
			.findFirst()
			.orElseThrow());
	}

	@Override
	public void close() {
		this.nodes.forEach(RedisProcess::stop);
	}

}
