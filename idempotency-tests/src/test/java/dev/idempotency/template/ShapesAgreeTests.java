/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.MethodSource;

import dev.idempotency.Mode;
import dev.idempotency.template.ShapedOperation.Database;
import dev.idempotency.template.ShapedOperation.Observation;
import dev.idempotency.template.ShapedOperation.Shape;
import dev.idempotency.template.ShapedOperation.Situation;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests that an operation ends the same in every shape: alone, as an item of a batch, and
 * asynchronously. Outcome, record, attempts, fence, meters and offset agree, or a table
 * gives the reason why they do not.
 */
@Tag("promise-1")
@Tag("promise-3")
@Tag("promise-4")
@Tag("promise-8")
@Tag("promise-11")
class ShapesAgreeTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.h2();

	// The rows of each situation are the first delivery and the redelivery of a single
	// operation. Their columns are those of Observation, without the reported attempt.
	// The last column describes the other items of a batch, "earlier / later".
	private static final String EXPECTED = """
			RETURNS: LEASED TRANSACTIONAL
			processed | COMPLETED +1 +1 = paid | +1 +1 | 1 | done: paid | done
			duplicate | unchanged | - | 1 | done again: paid | done

			THROWS: LEASED
			failed | FAILED +1 +1 IllegalState | +1 +1 | 1 | failed: IllegalState | done without a result / left out
			processed | COMPLETED +1 +1 = paid | +1 +1 | 2 | done: paid | done without a result / done

			THROWS: TRANSACTIONAL
			failed | FAILED +1 +1 IllegalState | +1 +1 | 0 | failed: IllegalState | done / left out
			processed | COMPLETED +1 +1 = paid | +1 +1 | 1 | done: paid | done

			BLOCKED BLOCKED_CAUSE: LEASED
			blocked | FAILED +0 +1 | +1 +1 | 1 | blocked: InProgress | done without a result / left out
			processed | COMPLETED +1 +1 = paid | +1 +1 | 2 | done: paid | done without a result / done

			BLOCKED BLOCKED_CAUSE: TRANSACTIONAL
			blocked | unchanged | +1 +1 | 0 | blocked: InProgress | done / left out
			processed | COMPLETED +1 +1 = paid | +1 +1 | 1 | done: paid | done

			DECLINES: LEASED
			declined | COMPLETED +1 +1 = body, no money | +1 +1 | 1 | done: body, no money | done without a result / done
			duplicate | unchanged | - | 1 | done again: body, no money | done without a result / done

			DECLINES: TRANSACTIONAL
			declined | COMPLETED +1 +1 = body, no money | +1 +1 | 0 | done: body, no money | done
			duplicate | unchanged | - | 0 | done again: body, no money | done

			OTHER_CONTENT: LEASED TRANSACTIONAL
			rejected | unchanged | - | 0 | failed: KeyReused | done / left out
			rejected | unchanged | - | 0 | failed: KeyReused | done / left out

			OTHER_OWNER: LEASED TRANSACTIONAL
			in_progress | unchanged | - | 0 | blocked: InProgress | done / left out
			duplicate | unchanged | - | 0 | done again: other | done

			TOO_LARGE: LEASED TRANSACTIONAL
			processed, result.not.stored | COMPLETED +1 +1 = not stored | +1 +1 | 1 | done: largelarge | done
			duplicate | unchanged | - | 1 | done again: nothing | done

			UNWRITABLE: LEASED TRANSACTIONAL
			processed, result.not.stored | COMPLETED +1 +1 = not stored | +1 +1 | 1 | done: unwritable | done
			duplicate | unchanged | - | 1 | done again: nothing | done

			UNREADABLE: LEASED TRANSACTIONAL
			processed | COMPLETED +1 +1 = unreadable | +1 +1 | 1 | done: unreadable | done
			rejected | unchanged | - | 1 | failed: ResultUnreadable | done / left out

			DOWN_AT_CLAIM: LEASED TRANSACTIONAL
			unavailable | unchanged | - | 0 | blocked: Unavailable | left out
			processed | COMPLETED +1 +1 = paid | +1 +1 | 1 | done: paid | done

			DOWN_AT_COMPLETION: LEASED
			completion.failed, unavailable | IN_PROGRESS +1 +1 | +1 +1 | 1 | blocked: Unavailable | same
			completion.settled settled, duplicate | COMPLETED +0 +0 = paid | - | 1 | done again: paid | done

			DOWN_AT_COMPLETION: TRANSACTIONAL
			unavailable | unchanged | +1 +1 | 0 | blocked: Unavailable | same
			processed | COMPLETED +1 +1 = paid | +1 +1 | 1 | done: paid | done

			DOWN_AT_FAILURE: LEASED
			failed | IN_PROGRESS +1 +1 | +1 +1 | 1 | failed: IllegalState | pending / left out and claimed
			processed | COMPLETED +1 +1 = paid | +1 +1 | 2 | done: paid | done without a result / done

			DOWN_AT_FAILURE: TRANSACTIONAL
			unavailable | unchanged | +1 +1 | 0 | blocked: Unavailable | same
			processed | COMPLETED +1 +1 = paid | +1 +1 | 1 | done: paid | done

			LOST: LEASED
			lost | COMPLETED +2 +2 = other | +1 +1 | 1 | blocked: Lost | done
			duplicate | unchanged | - | 1 | done again: other | done

			LOST_AND_THROWS: LEASED
			lost | COMPLETED +2 +2 = other | +1 +1 | 1 | blocked: Lost | done without a result / left out
			duplicate | unchanged | - | 1 | done again: other | done without a result / done

			LOST_AND_THROWS: TRANSACTIONAL
			failed | COMPLETED +1 +1 = other | +1 +1 | 0 | blocked: Lost | done / left out
			duplicate | unchanged | - | 0 | done again: other | done

			STALE: LEASED TRANSACTIONAL
			stale | unchanged | - | 0 | done: stale | done
			stale | unchanged | - | 0 | done: stale | done

			STALE_REJECTED: LEASED TRANSACTIONAL
			stale | unchanged | - | 0 | failed: VersionStale | done / left out
			stale | unchanged | - | 0 | failed: VersionStale | done / left out

			ROLLBACK: LEASED
			processed | COMPLETED +1 +1 = paid | +1 +1 | 1 | done: paid | done
			duplicate | unchanged | - | 1 | done again: paid | done

			ROLLBACK: TRANSACTIONAL
			processed | COMPLETED +1 +1 = paid | +1 +1 | 0 | done: paid | same
			duplicate | unchanged | - | 0 | done again: paid | same

			ROLLBACK_MARKED: LEASED
			processed | COMPLETED +1 +1 = paid | +1 +1 | 1 | done: paid | done
			duplicate | unchanged | - | 1 | done again: paid | done

			ROLLBACK_MARKED: TRANSACTIONAL
			failed | FAILED +1 +1 UnexpectedRollback | +1 +1 | 0 | failed: UnexpectedRollback | same
			processed | COMPLETED +1 +1 = paid | +1 +1 | 1 | done: paid | done""";

	// An equals sign stands for the cell of a single operation.
	private static final String DIFFERENCES = """
			THROWS: LEASED TRANSACTIONAL: UNKNOWN
			The handler does not name the item at which it has failed. The whole batch fails, each of its items uses
			an attempt, and all of them run again.
			= | = | = | = | batch failed: IllegalState | same
			= | = | = | = | = | done

			DOWN_AT_FAILURE: LEASED: UNKNOWN
			The same applies if the failures are recorded later.
			= | = | = | = | batch failed: IllegalState | same
			= | = | = | = | = | done

			BLOCKED BLOCKED_CAUSE: LEASED TRANSACTIONAL: UNKNOWN
			The handler does not name the item that is blocked. The whole batch is blocked.
			= | = | = | = | = | same
			= | = | = | = | = | done

			DECLINES: LEASED: UNKNOWN
			A decline completes one operation. If the handler does not name its item, the whole batch fails.
			failed | FAILED +1 +1 OperationDeclined | = | = | batch failed: Declined | same
			processed | COMPLETED +1 +1 = paid | +1 +1 | 2 | done: paid | done

			DECLINES: TRANSACTIONAL: UNKNOWN
			The same applies in a transaction, which leaves no effect of the batch that has failed.
			failed | FAILED +1 +1 OperationDeclined | = | = | batch failed: Declined | same
			processed | COMPLETED +1 +1 = paid | +1 +1 | 1 | done: paid | done

			DOWN_AT_CLAIM: LEASED TRANSACTIONAL: MIDDLE LAST
			One call claims the keys of a batch. The first item is blocked, and the later ones of its lane are left out.
			- | = | = | = | left out | blocked: Unavailable [unavailable; unchanged], left out
			= | = | = | = | = | =

			DOWN_AT_COMPLETION: LEASED: ASYNC_STAGE
			The caller of an asynchronous operation has a future, which is completed when the completion is recorded.
			completion.failed, completion.settled settled, processed | = | = | = | waits, done: paid | =
			duplicate | unchanged | = | = | = | =

			ROLLBACK_MARKED: TRANSACTIONAL: BATCH_OF_ONE FIRST MIDDLE LAST
			The commit has failed, and not the handler of one item. The whole batch fails.
			= | = | = | = | batch failed: UnexpectedRollback | =
			= | = | = | = | = | =

			LOST_AND_THROWS: LEASED TRANSACTIONAL: UNKNOWN
			The handler does not name the item at which it has failed. All of them fail, and the key of one is lost.
			= | = | = | = | = | batch failed: IllegalState [failed; FAILED +1 +1 IllegalState]
			= | = | = | = | = | done""";

	private static final String IMPOSSIBLE = """
			ANY: TRANSACTIONAL: ASYNC
			A transaction ends when its method returns, so an asynchronous operation in a transaction is refused.

			ROLLBACK: LEASED: ASYNC
			An asynchronous operation has no transaction of which its handler could request a rollback.

			LOST: TRANSACTIONAL: ANY
			The transaction of the handler locks the record. Another owner can take it over only after a rollback.

			NOT_THROWN: LEASED TRANSACTIONAL: UNKNOWN ASYNC_METHOD
			Nothing is thrown, so no failed item could be named, and it makes no difference who would throw it.""";

	private static final List<Row> DIFFERENT = Row.parse(DIFFERENCES).toList();

	private static final List<Row> EXCLUDED = Row.parse(IMPOSSIBLE).toList();

	private static final List<Row> SINGLE = Row.parse(EXPECTED).toList();

	private static Database connections;

	@BeforeAll
	static void connect() {
		connections = new Database(database);
	}

	static Stream<Arguments> situations() {
		return Arrays.stream(Situation.values())
			.flatMap((situation) -> Stream.of(Mode.LEASED, Mode.TRANSACTIONAL)
				.filter((mode) -> shapes(situation, mode).findAny().isPresent())
				.map((mode) -> Arguments.of(situation, mode)));
	}

	private static Stream<Shape> shapes(Situation situation, Mode mode) {
		return Arrays.stream(Shape.values())
			.filter((shape) -> EXCLUDED.stream().noneMatch((row) -> row.applies(situation, mode, shape)));
	}

	@ParameterizedTest
	@MethodSource("situations")
	void operationEndsTheSameInEveryShape(Situation situation, Mode mode) {
		List<String> disagreements = new ArrayList<>();
		shapes(situation, mode).forEach((shape) -> {
			for (boolean failedBefore : histories(situation, shape)) {
				try (ShapedOperation operation = new ShapedOperation(connections, situation, mode, shape,
						failedBefore)) {
					String history = shape + (failedBefore ? " that failed before, " : " with a new key, ");
					Row expected = expected(situation, mode, shape);
					compare(history + "first delivery", expected.first(), shape, operation.deliver(), disagreements);
					compare(history + "redelivery", expected.second(), shape, operation.redeliver(), disagreements);
				}
			}
		});
		assertThat(String.join("\n", disagreements)).as("%s, %s", situation, mode).isEmpty();
	}

	// Both histories of a single operation. The other shapes have them in turn.
	private static List<Boolean> histories(Situation situation, Shape shape) {
		return (shape == Shape.SINGLE) ? List.of(false, true)
				: List.of((situation.ordinal() + shape.ordinal()) % 2 == 0);
	}

	private static Row expected(Situation situation, Mode mode, Shape shape) {
		Row expected = SINGLE.stream().filter((row) -> row.applies(situation, mode, shape)).findFirst().orElseThrow();
		for (Row difference : DIFFERENT) {
			expected = difference.applies(situation, mode, shape) ? difference.over(expected) : expected;
		}
		return expected;
	}

	private static void compare(String delivery, List<String> row, Shape shape, Observation observed,
			List<String> disagreements) {
		List<String> expected = new ArrayList<>(row);
		String others = shape.others(expected.remove(expected.size() - 1));
		expected.add(others.isEmpty() ? "-" : others);
		expected.add(reportedAttempt(row, shape));
		if (!expected.equals(observed.cells())) {
			disagreements.add(delivery + ":\n  expected " + String.join(" | ", expected) + "\n  but was  "
					+ String.join(" | ", observed.cells()));
		}
	}

	// HandledOperation has no attempt for a record of a batch, and for an operation whose
	// handler has not run.
	private static String reportedAttempt(List<String> expected, Shape shape) {
		String runs = expected.get(2);
		return expected.get(0).equals("-") ? "-" : (shape.isBatch() || runs.equals("-")) ? "none" : runs.split(" ")[0];
	}

	@ParameterizedTest
	@FieldSource("DIFFERENT")
	void differenceDiffersFromASingleOperation(Row difference) {
		List<Row> alone = SINGLE.stream().filter((row) -> row.overlaps(difference)).toList();
		assertThat(alone).isNotEmpty()
			.allSatisfy((row) -> assertThat(difference.over(row).cells()).isNotEqualTo(row.cells()));
	}

	/**
	 * A row of a table: the cells of both deliveries in some situations, modes and
	 * shapes.
	 *
	 * @param situations the situations
	 * @param modes the modes
	 * @param shapes the shapes
	 * @param reason the reason of a difference
	 * @param cells the cells of the first delivery and of the redelivery
	 */
	private record Row(Set<Situation> situations, Set<Mode> modes, Set<Shape> shapes, String reason,
			List<List<String>> cells) {

		static Stream<Row> parse(String table) {
			return Arrays.stream(table.split("\n\n")).map((lines) -> parse(lines.split("\n")));
		}

		private static Row parse(String[] lines) {
			String[] names = lines[0].split(": ");
			List<List<String>> cells = Arrays.stream(lines)
				.filter((line) -> line.contains(" | "))
				.map((line) -> List.of(line.split(" \\| ")))
				.toList();
			return new Row(Situation.named(names[0]),
					EnumSet.copyOf(Arrays.stream(names[1].split(" ")).map(Mode::valueOf).toList()),
					Shape.named((names.length > 2) ? names[2] : "ANY"),
					String.join(" ", List.of(lines).subList(1, lines.length - cells.size())), cells);
		}

		boolean applies(Situation situation, Mode mode, Shape shape) {
			return this.situations.contains(situation) && this.modes.contains(mode) && this.shapes.contains(shape);
		}

		boolean overlaps(Row other) {
			return !Collections.disjoint(this.situations, other.situations)
					&& !Collections.disjoint(this.modes, other.modes);
		}

		List<String> first() {
			return this.cells.get(0);
		}

		List<String> second() {
			return this.cells.get(1);
		}

		Row over(Row base) {
			return new Row(this.situations, this.modes, this.shapes, this.reason,
					List.of(over(first(), base.first()), over(second(), base.second())));
		}

		private static List<String> over(List<String> cells, List<String> base) {
			return IntStream.range(0, base.size())
				.mapToObj((column) -> cells.get(column).equals("=") ? base.get(column) : cells.get(column))
				.toList();
		}

		@Override
		public String toString() {
			return this.situations + ", " + this.modes + ", " + this.shapes + ": " + this.reason;
		}

	}

}
