package dev.idempotency.jdbc;

import java.sql.Array;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;

/**
 * The position in each lane from which on this instance looks for messages. Published
 * messages cannot leave the indexes while any transaction of the database has an older
 * snapshot, so a relay that looked from the beginning would read all of them each time.
 * <p>
 * A mark passes no position that an open transaction may still fill. A position is taken
 * under the lock of the table that an insert needs, so all positions up to one that was
 * read are decided when every transaction that held that lock afterwards has ended. A
 * message that becomes pending again has a time for its next attempt, and is found by
 * that. A full look at one lane after the other finds what was changed by hand.
 */
final class OutboxMarks {

	private static final Duration INTERVAL = Duration.ofSeconds(1);

	// Of one lane; for all of them it takes about ten minutes.
	private static final Duration FULL_INTERVAL = Duration.ofSeconds(10);

	// Before a look that brings no answer is given up.
	private static final Duration PATIENCE = Duration.ofSeconds(10);

	// Those that follow each other at once, until the writers of the first have ended.
	private static final int FIRST_LOOKS = 3;

	private static final String PREPARED = "-1/";

	private final LongSupplier nanos;

	private final Long[] from = new Long[OutboxSql.LANES];

	// Positions belong to a server: another one may have lost the last of them.
	private String server = "";

	// Each message up to here is visible, or will never be.
	private long decided;

	// The next value of that, as soon as these transactions have ended.
	private long candidate;

	private Set<String> open = Set.of();

	private long seen;

	private long number;

	private long nextLook;

	private long nextFullLook;

	// Whether a look has found what is pending, which only one from the beginning can do.
	private boolean known;

	private int fullLane = OutboxSql.LANES - 1;

	OutboxMarks(LongSupplier nanos) {
		this.nanos = nanos;
		Arrays.fill(this.from, 0L);
		this.nextLook = nanos.getAsLong();
		this.nextFullLook = this.nextLook;
	}

	/**
	 * The parameters of statements that look from the marks on.
	 * @return the parameters, to be changed by the caller
	 */
	synchronized Map<String, Object> parameters() {
		Map<String, Object> parameters = new HashMap<>();
		parameters.put("server", this.server);
		parameters.put("marks", marks(this.from.clone()));
		return parameters;
	}

	private static ArrayParameter marks(@Nullable Long[] marks) {
		return new ArrayParameter("bigint", marks);
	}

	/**
	 * Whether to look before a round and not within it, so that what is published is read
	 * once and not by each statement of the round.
	 * @return whether there are no marks yet, and a look may find some
	 */
	synchronized boolean areToBeFound() {
		return moreIsNeeded() && this.nanos.getAsLong() - this.nextLook >= 0;
	}

	private boolean moreIsNeeded() {
		return !this.known && (this.decided > 0 || this.number < FIRST_LOOKS);
	}

	/**
	 * Begin a look that moves the marks, if there has been none for a while. As long as
	 * no position is decided it asks for positions and writers only, and reads no
	 * messages.
	 * @param parameters gets the parameters of the look
	 * @return the number of the look, zero if there is no need of one
	 */
	synchronized long begin(Map<String, Object> parameters) {
		long now = this.nanos.getAsLong();
		if (now - this.nextLook < 0) {
			return 0;
		}
		@Nullable Long[] starts = (this.decided > 0) ? this.from.clone() : new Long[this.from.length];
		if (this.decided > 0 && now - this.nextFullLook >= 0) {
			this.nextFullLook = now + FULL_INTERVAL.toNanos();
			this.fullLane = (this.fullLane + 1) % starts.length;
			starts[this.fullLane] = 0L;
		}
		parameters.put("starts", marks(starts));
		this.nextLook = now + PATIENCE.toNanos();
		return ++this.number;
	}

	/**
	 * Learn from a look.
	 * @param look its number
	 * @param row what it has found
	 * @throws SQLException if the row cannot be read
	 */
	synchronized void learn(long look, ResultSet row) throws SQLException {
		// One that was overtaken knows less than the other.
		if (look == this.number && row.next()) {
			learn(row.getString(1), row.getLong(2), Set.of((String[]) elements(row.getArray(3))),
					(Long[]) elements(row.getArray(4)));
		}
	}

	private static Object elements(Array array) throws SQLException {
		return array.getArray();
	}

	void learn(String current, long position, Set<String> writers, @Nullable Long[] first) {
		if (!current.equals(this.server) || position < this.seen) {
			Arrays.fill(this.from, 0L);
			this.server = current;
			this.decided = 0;
			this.candidate = 0;
			this.open = Set.of();
			this.known = false;
		}
		else if (this.decided > 0) {
			this.known = true;
			for (int lane = 0; lane < first.length; lane++) {
				this.from[lane] = (first[lane] != null) ? Math.min(first[lane], this.decided + 1) : this.decided + 1;
			}
		}
		this.seen = position;
		this.open = stillOpen(writers);
		if (this.open.isEmpty()) {
			this.decided = this.candidate;
			this.candidate = position;
			this.open = writers;
		}
		if (this.open.isEmpty()) {
			this.decided = position;
		}
		this.nextLook = this.nanos.getAsLong() + (moreIsNeeded() ? 0 : INTERVAL.toNanos());
	}

	// A transaction that is prepared goes on under another name.
	private Set<String> stillOpen(Set<String> writers) {
		boolean ended = this.open.stream().anyMatch((id) -> !id.startsWith(PREPARED) && !writers.contains(id));
		return writers.stream()
			.filter((id) -> this.open.contains(id) || (ended && id.startsWith(PREPARED)))
			.collect(Collectors.toUnmodifiableSet());
	}

}
