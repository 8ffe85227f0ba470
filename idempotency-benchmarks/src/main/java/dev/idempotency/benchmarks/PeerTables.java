/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;

import org.jspecify.annotations.Nullable;

/**
 * The tables of the comparison with other ways.
 */
final class PeerTables {

	private static final String NOT_MEASURED = "–";

	// Each with the way of another project that stores the key in the same place.
	private static final List<Pair> PAIRS = List.of(new Pair(Peer.TRANSACTIONAL, Peer.UNIQUE_KEY, 0.95),
			new Pair(Peer.TRANSACTIONAL, Peer.INTEGRATION_JDBC_TRANSACTION, 0),
			new Pair(Peer.TRANSACTIONAL, Peer.CAMEL_JDBC_TRANSACTION, 0),
			new Pair(Peer.LEASED_JDBC, Peer.INTEGRATION_JDBC, 1), new Pair(Peer.LEASED_JDBC, Peer.CAMEL_JDBC, 0),
			new Pair(Peer.LEASED_REDIS, Peer.INTEGRATION_REDIS, 1),
			new Pair(Peer.LEASED_REDIS_DURABLE, Peer.INTEGRATION_REDIS_DURABLE, 1));

	private PeerTables() {
	}

	static String rates(Map<Peer, List<Phase>> phases, Map<Peer, KillRun.Result> results) {
		StringBuilder table = new StringBuilder("""
				| way | records/s (range) | of the bare listener (range) | p50, p99 µs | kills, payments \
				| lost | doubled |
				|---|---|---|---|---|---|---|
				""");
		List<Phase> bare = phases.get(Peer.BARE);
		for (Peer peer : Peer.values()) {
			List<Phase> rounds = phases.get(peer);
			KillRun.Result result = results.get(peer);
			if (rounds != null || result != null) {
				table.append("| %s | %s | %s | %s | %s |%n".formatted(peer.title(), rate(rounds), ratio(rounds, bare),
						latency(rounds), kills(result)));
			}
		}
		return table.toString();
	}

	private static String rate(@Nullable List<Phase> rounds) {
		return (rounds != null) ? sample(rounds, Phase::rate).format("%,.0f") : NOT_MEASURED;
	}

	private static String latency(@Nullable List<Phase> rounds) {
		return (rounds != null) ? String.format(Locale.ROOT, "%.0f, %.0f", sample(rounds, Phase::p50).median(),
				sample(rounds, Phase::p99).median()) : NOT_MEASURED;
	}

	private static String kills(KillRun.@Nullable Result result) {
		return (result != null) ? String.format(Locale.ROOT, "%d, %,d | %,d | %,d", result.kills(), result.payments(),
				result.lost(), result.doubled()) : "– | – | –";
	}

	static String pairs(Map<Peer, List<Phase>> phases) {
		StringBuilder table = new StringBuilder("""
				| the library | beside | ratio of the rates (range) | goal |
				|---|---|---|---|
				""");
		for (Pair pair : PAIRS) {
			List<Phase> ours = phases.get(pair.ours());
			List<Phase> other = phases.get(pair.other());
			if (ours != null && other != null) {
				table.append("| %s | %s | **%s** | %s |%n".formatted(pair.ours().title(), pair.other().title(),
						ratio(ours, other), (pair.goal() > 0) ? pair.goal() : NOT_MEASURED));
			}
		}
		return table.toString();
	}

	private static Sample sample(List<Phase> rounds, ToDoubleFunction<Phase> figure) {
		return Sample.of(rounds.stream().map((phase) -> figure.applyAsDouble(phase)).toList());
	}

	// Within each round.
	private static String ratio(@Nullable List<Phase> rounds, @Nullable List<Phase> others) {
		if (rounds == null || others == null) {
			return NOT_MEASURED;
		}
		List<Double> ratios = new ArrayList<>();
		for (int i = 0; i < rounds.size(); i++) {
			ratios.add(rounds.get(i).rate() / others.get(i).rate());
		}
		return Sample.of(ratios).format("%.2f");
	}

	/**
	 * Two ways whose rates are compared.
	 *
	 * @param ours the library
	 * @param other the other way
	 * @param goal the goal for the ratio, 0 if there is none
	 */
	private record Pair(Peer ours, Peer other, double goal) {

	}

}
