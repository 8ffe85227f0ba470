/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.sql.Connection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Function;

import javax.sql.DataSource;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.UnexpectedRollbackException;
import org.springframework.util.Assert;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.jdbc.JdbcExecutor.Work;
import dev.idempotency.jdbc.RecordSql.Name;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Deadline;
import dev.idempotency.store.Ending;
import dev.idempotency.store.ExpiredRecords;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.store.IdempotencyStore.CompletionAndClaim;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.store.OffsetMark;
import dev.idempotency.store.OffsetMarks;
import dev.idempotency.store.TransactionalIdempotencyStore;

/**
 * A store in a relational database. Each transition is one statement that checks and
 * writes; the number of affected rows decides. The database is PostgreSQL, MariaDB,
 * MySQL, or H2 in tests, in its regular mode and with {@code MODE=PostgreSQL}. On H2 a
 * claim is two statements (one that reads without a lock, one that checks again and
 * writes), a result has at most one mebibyte, and if a transaction has rolled back to a
 * savepoint, other transactions wait without a time limit for the rows that it still
 * locks.
 *
 * @since 0.1.0
 */
public final class JdbcIdempotencyStore implements TransactionalIdempotencyStore, ExpiredRecords, AutoCloseable {

	private static final Log logger = LogFactory.getLog(JdbcIdempotencyStore.class);

	// A claim that never exists. A server that only reads, as after a failover, refuses
	// to settle it.
	private static final List<Ending> PING = List
		.of(new Ending.Released(new ClaimRequest(IdempotencyKey.of("idempotency", "ping"), new UUID(0, 0), null,
				Duration.ofSeconds(1), Duration.ofSeconds(2))));

	private final TableName table;

	private final Layout layout;

	private final JdbcExecutor executor;

	private final TableName qualified;

	private final RecordSql sql;

	private final JdbcClaims claims;

	private final JdbcSettlements settlements;

	private final @Nullable DataSource renewals;

	private final JdbcSettlements renewing;

	private final JdbcRecords records;

	private final ExpiredRows expired;

	private final @Nullable PartitionMaintenance partitions;

	private final JdbcOffsetMarks offsets;

	private final EndingGroups groups;

	/**
	 * Create a store in a single table.
	 * @param dataSource the database, the same object that the transaction manager has
	 * @param table the name of the table, with or without a schema
	 * @param timeout how long a call may take once it has a connection; half of it may be
	 * spent waiting for a lock
	 */
	public JdbcIdempotencyStore(DataSource dataSource, String table, Duration timeout) {
		this(dataSource, table, timeout, Layout.SINGLE, Duration.ZERO, null);
	}

	/**
	 * Create a store.
	 * @param dataSource the database, the same object that the transaction manager has
	 * @param table the name of the table, with or without a schema
	 * @param timeout how long a call may take once it has a connection; half of it may be
	 * spent waiting for a lock
	 * @param layout how the records are kept
	 * @param partitionInterval how long records are added to a partition
	 * @param renewals the same database with connections that handlers cannot exhaust,
	 * {@code null} to renew leases with connections of the first {@link DataSource};
	 * closed with the store if it can be closed
	 */
	public JdbcIdempotencyStore(DataSource dataSource, String table, Duration timeout, Layout layout,
			Duration partitionInterval, @Nullable DataSource renewals) {
		Deadline.requireTimeout(timeout);
		this.table = TableName.of(table);
		this.layout = layout;
		DatabaseInspection database = DatabaseInspection.of(dataSource, this.table, layout);
		Dialect dialect = database.dialect();
		this.qualified = database.table();
		this.executor = database.executor(dataSource, timeout);
		this.sql = dialect.records(this.qualified, timeout.dividedBy(2));
		this.claims = new JdbcClaims(this.sql, dialect);
		this.settlements = new JdbcSettlements(this.executor, this.sql);
		this.renewals = renewals;
		this.renewing = (renewals != null) ? new JdbcSettlements(database.executor(renewals, timeout), this.sql)
				: this.settlements;
		this.records = new JdbcRecords(this.executor, this.sql);
		this.partitions = (layout == Layout.PARTITIONED)
				? new PartitionMaintenance(this.executor, this.qualified, partitionInterval) : null;
		this.expired = new ExpiredRows(this.executor, this.qualified, table(), "expires_at",
				" AND NOT (state = 'P' AND lease_until > CURRENT_TIMESTAMP)",
				(this.partitions != null) ? this.partitions.patience() : Duration.ZERO);
		this.offsets = new JdbcOffsetMarks(this.executor, this.claims,
				dialect.offsets(this.qualified, timeout.dividedBy(2)));
		this.groups = new EndingGroups(dialect.maxResultBytes());
	}

	@Override
	public String name() {
		return "jdbc";
	}

	/**
	 * The database of this store.
	 * @return the {@link DataSource} that was passed to the constructor
	 */
	public DataSource dataSource() {
		return this.executor.dataSource();
	}

	/**
	 * The same records, with the connections for lease renewals. A transaction of a
	 * handler that reads them beside itself does not wait for another connection of its
	 * own pool.
	 * @return the store, {@code null} if there are no such connections
	 */
	public @Nullable JdbcIdempotencyStore reader() {
		return (this.renewals != null) ? new JdbcIdempotencyStore(this.renewals, table(), this.executor.timeout(),
				this.layout, Duration.ofDays(1), null) : null;
	}

	/**
	 * Whether another store has the same records.
	 * @param other the other store
	 * @return whether both use the same table of the same database
	 */
	public boolean hasSameRecords(JdbcIdempotencyStore other) {
		return this.qualified.isSame(other.qualified)
				&& JdbcSchemaMigration.isSameDatabase(dataSource(), other.dataSource());
	}

	@Override
	public String table() {
		return this.table.toString();
	}

	@Override
	public @Nullable String leaseProblem() {
		return DatabaseInspection.isRouting(dataSource())
				? "the DataSource of the JDBC store chooses its database by the thread (AbstractRoutingDataSource), and "
						+ "other threads renew and complete claims"
				: null;
	}

	@Override
	public List<Claim> claim(List<ClaimRequest> requests) {
		return requests.isEmpty() ? List.of()
				: this.executor.autonomous((connection) -> this.claims.claimAll(connection, requests, true));
	}

	@Override
	public List<Settlement> settle(List<Ending> endings) {
		return inGroups(endings, this::settleGroup);
	}

	private List<Settlement> settleGroup(List<Ending> endings) {
		List<ClaimRequest> owned = claims(endings);
		if (endings.get(0) instanceof Ending.Completed) {
			return this.settlements.settleAll((owned.size() == 1) ? Name.COMPLETE : Name.COMPLETE_ALL, owned,
					results(endings, owned));
		}
		Parameters parameters = Parameters.owned(owned);
		return (endings.get(0) instanceof Ending.Failed failed)
				? this.settlements.settleAll(Name.FAIL_ALL, owned, parameters.failed(failed.failure()))
				: this.settlements.settleAll(Name.RELEASE_ALL, owned, parameters);
	}

	// If a concurrent transaction holds a record of one group, the others are
	// nevertheless settled.
	private List<Settlement> inGroups(List<Ending> endings, Function<List<Ending>, List<Settlement>> settle) {
		List<List<Ending>> groups = this.groups.of(endings);
		if (groups.size() == 1) {
			return settle.apply(endings);
		}
		List<Settlement> settled = new ArrayList<>(endings.size());
		OperationInProgressException held = null;
		for (List<Ending> group : groups) {
			try {
				settled.addAll(settle.apply(group));
			}
			catch (OperationInProgressException ex) {
				held = ex;
			}
		}
		if (held != null) {
			throw held;
		}
		return settled;
	}

	@Override
	public boolean supportsClaimAhead() {
		return this.sql.has(Name.COMPLETE_AND_CLAIM);
	}

	@Override
	public CompletionAndClaim completeAndClaim(Ending.Completed completed, ClaimRequest next) {
		if (!this.claims.canClaimAhead(completed.claim(), next)) {
			return TransactionalIdempotencyStore.super.completeAndClaim(completed, next);
		}
		return this.executor.autonomous((connection) -> this.claims.completeAndClaim(connection, completed, next))
			// Its repetition finds out why the claim is not completed.
			.orElseGet(() -> new CompletionAndClaim(settle(List.of(completed)).get(0), null));
	}

	@Override
	public List<Settlement> renew(List<ClaimRequest> owned) {
		return this.renewing.settleAll(Name.RENEW_ALL, owned, Parameters.owned(owned));
	}

	@Override
	public Settlement restore(ClaimRequest claim, Claim.Acquired acquired) {
		return this.settlements.restore(claim, acquired);
	}

	@Override
	public List<Settlement> settleAfterTransaction(List<Ending> endings, List<OffsetMark> marks) {
		List<Settlement> settled = inGroups(endings, this::settleGroupAfterTransaction);
		this.offsets.undo(marks);
		return settled;
	}

	private List<Settlement> settleGroupAfterTransaction(List<Ending> endings) {
		List<ClaimRequest> claims = claims(endings);
		if (endings.get(0) instanceof Ending.Failed failed) {
			return this.settlements.noteFailures(claims, failed.failure());
		}
		Assert.isInstanceOf(Ending.Released.class, endings.get(0),
				"An operation completes in the transaction of its handler, and not after it");
		this.settlements.settleAll(Name.UNDO_ALL, claims, Parameters.owned(claims));
		return Collections.nCopies(claims.size(), Settlement.SETTLED);
	}

	@Override
	public List<Optional<Claim>> insert(List<ClaimRequest> requests) {
		return requests.isEmpty() ? List.of()
				: this.executor.inTransaction((connection) -> this.claims.insertAll(connection, requests));
	}

	@Override
	public List<Claim> claimInTransaction(List<ClaimRequest> requests, boolean joined) {
		Work<List<Claim>> claim = (connection) -> this.claims.claimAll(connection, requests, false);
		Work<List<Claim>> safe = joined ? (connection) -> this.claims.inSavepoint(connection, claim,
				(claimed) -> claimed.stream().anyMatch(Claim.Acquired.class::isInstance)) : claim;
		return requests.isEmpty() ? List.of() : this.executor.inTransaction(safe);
	}

	@Override
	public void storeResults(List<Ending.Completed> completions) {
		this.groups.of(completions.stream().filter((completed) -> completed.result() != null).toList())
			.forEach(this::storeGroup);
	}

	private void storeGroup(List<Ending.Completed> stored) {
		SqlStatement statement = this.sql.get((stored.size() == 1) ? Name.STORE_RESULT : Name.STORE_RESULTS);
		Parameters parameters = results(stored, claims(stored));
		if (this.executor.inTransaction((connection) -> statement.update(connection, parameters)) < stored.size()) {
			throw new UnexpectedRollbackException(
					"The transaction no longer contains the record of the key, because the handler has rolled back its "
							+ "connection. Let the handler throw an exception or set the transaction to rollback-only");
		}
	}

	// The statement for one claim has single parameters.
	private static Parameters results(List<? extends Ending> endings, List<ClaimRequest> claims) {
		return (claims.size() == 1) ? Parameters.of(claims.get(0)).with("result", EndingGroups.result(endings.get(0)))
				: Parameters.owned(claims).withBytes("result", endings, EndingGroups::result);
	}

	private static List<ClaimRequest> claims(List<? extends Ending> endings) {
		return (endings.size() == 1) ? List.of(endings.get(0).claim()) : endings.stream().map(Ending::claim).toList();
	}

	@Override
	public void requireCommittable() {
		this.executor.requireCommittable((connection) -> FirstWrite.isKept(this.claims, connection));
	}

	@Override
	public Optional<OffsetMarks> offsetMarks() {
		return Optional.of(this.offsets);
	}

	@Override
	public @Nullable String isolationProblem(int isolation) {
		if (this.partitions == null) {
			return null;
		}
		int level = (isolation != TransactionDefinition.ISOLATION_DEFAULT) ? isolation
				: DatabaseInspection.ask(dataSource(), Connection::getTransactionIsolation);
		String name = switch (level) {
			case Connection.TRANSACTION_REPEATABLE_READ -> "REPEATABLE READ";
			case Connection.TRANSACTION_SERIALIZABLE -> "SERIALIZABLE";
			default -> null;
		};
		return (name != null) ? "are " + name + " and the partitioned table '" + this.table
				+ "' accepts claims in READ COMMITTED only" : null;
	}

	@Override
	public Claim lookUp(ClaimRequest request) {
		return this.executor.autonomous((connection) -> this.claims.lookUp(connection, request));
	}

	@Override
	public Map<IdempotencyKey, IdempotencyRecord> find(Collection<IdempotencyKey> keys) {
		return this.records.find(keys);
	}

	@Override
	public Optional<IdempotencyRecords> records() {
		return Optional.of(this.records);
	}

	@Override
	public void ping() {
		settle(PING);
	}

	@Override
	public void maintain() {
		if (this.partitions != null) {
			this.partitions.maintain();
		}
	}

	@Override
	public int deleteExpired(int limit, Duration pause) {
		return this.expired.deleteExpired(limit, pause);
	}

	@Override
	public Duration backlogAge() {
		return this.expired.backlogAge();
	}

	@Override
	public void close() {
		if (this.renewals instanceof AutoCloseable closeable) {
			try {
				closeable.close();
			}
			catch (Exception ex) {
				logger.debug("Closing the connections for lease renewals failed", ex);
			}
		}
	}

}
