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
				| the library | beside | ratio of the rates (range) |
				|---|---|---|
				""");
		Peer.PAIRS.forEach((ours, others) -> {
			for (Peer other : others) {
				if (phases.containsKey(ours) && phases.containsKey(other)) {
					table.append("| %s | %s | %s |%n".formatted(ours.title(), other.title(),
							ratio(phases.get(ours), phases.get(other))));
				}
			}
		});
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

}
