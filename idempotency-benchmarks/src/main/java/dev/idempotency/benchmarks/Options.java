package dev.idempotency.benchmarks;

import java.nio.file.Path;
import java.util.List;

import org.jspecify.annotations.Nullable;

/**
 * The options of the command line.
 *
 * @param quick whether this is a smoke run
 * @param rounds the number of measured rounds of each row
 * @param only the text that the names of rows must contain, {@code null} for all rows
 */
record Options(boolean quick, int rounds, @Nullable String only) {

	static Options parse(String[] arguments) {
		boolean quick = false;
		int rounds = 5;
		String only = null;
		for (String argument : arguments) {
			if (argument.equals("--quick")) {
				quick = true;
				rounds = 1;
			}
			else if (argument.startsWith("--rounds=")) {
				rounds = Integer.parseInt(argument.substring("--rounds=".length()));
			}
			else if (argument.startsWith("--only=")) {
				only = argument.substring("--only=".length());
			}
			else {
				throw new IllegalArgumentException(
						"Unknown option '" + argument + "'. Use --quick, --rounds=NUMBER or --only=TEXT");
			}
		}
		return new Options(quick, rounds, only);
	}

	boolean inProcess() {
		return this.only == null || "in-process".contains(this.only);
	}

	List<Work> select(List<Work> works) {
		return works.stream()
			.filter((work) -> this.only == null || work.toString().contains(this.only))
			.filter((work) -> !this.quick || work.goal() != null)
			.toList();
	}

	List<Integer> threads() {
		return this.quick ? List.of(1) : List.of(1, 4);
	}

	// For the slower listener.
	double phaseSeconds() {
		return this.quick ? 0.2 : 1;
	}

	// For the faster listener.
	double warmUpSeconds() {
		return this.quick ? 0.1 : 4;
	}

	// A partial or short run must not replace the figures of a complete one.
	Path directory() {
		return Path.of((this.quick || this.only != null) ? "idempotency-benchmarks/target" : "docs");
	}

}
