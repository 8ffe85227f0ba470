package dev.idempotency.jdbc;

import java.sql.Connection;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

import javax.sql.DataSource;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.TransactionDefinition;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Completion;
import dev.idempotency.store.ExpiredRecords;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.store.Settlement;
import dev.idempotency.store.TransactionalIdempotencyStore;

/**
 * The store in a relational database. Each transition is one statement that checks and
 * writes; the number of affected rows decides. PostgreSQL, and H2 for tests, in its
 * regular mode and with {@code MODE=PostgreSQL}. On H2 a claim is two statements (one
 * that answers without a lock, one that checks again and writes), results have at most a
 * mebibyte, and a wait for a row is not limited while its owner has rolled back to a
 * savepoint.
 *
 * @since 0.1.0
 */
public final class JdbcIdempotencyStore implements TransactionalIdempotencyStore, ExpiredRecords, AutoCloseable {

	private static final Log logger = LogFactory.getLog(JdbcIdempotencyStore.class);

	private static final IdempotencyKey PING = IdempotencyKey.of("idempotency", "ping");

	private static final Duration MIN_TIMEOUT = Duration.ofMillis(100);

	private final DataSource dataSource;

	private final Connections connections;

	private final @Nullable DataSource renewals;

	private final Connections renewing;

	private final boolean supportsLeases;

	private final Statements sql;

	private final ClaimStatement claim;

	private final TableName table;

	private final Duration timeout;

	private final Batches batches;

	private final Batches renewedBatches;

	private final ExpiredRows expired;

	private final Dialect dialect;

	private final JdbcRecords records;

	private final @Nullable Partitions partitions;

	/**
	 * Create a store in a single table.
	 * @param dataSource the database, the same object that the transaction manager has
	 * @param table the name of the table
	 * @param timeout how long a call may take once it has a connection; half of it may be
	 * spent waiting for a lock
	 */
	public JdbcIdempotencyStore(DataSource dataSource, TableName table, Duration timeout) {
		this(dataSource, table, timeout, Layout.SINGLE, Duration.ZERO);
	}

	/**
	 * Create a store.
	 * @param dataSource the database, the same object that the transaction manager has
	 * @param table the name of the table
	 * @param timeout how long a call may take once it has a connection; half of it may be
	 * spent waiting for a lock
	 * @param layout how the records are kept
	 * @param partitionInterval how long a partition is filled
	 */
	public JdbcIdempotencyStore(DataSource dataSource, TableName table, Duration timeout, Layout layout,
			Duration partitionInterval) {
		this(dataSource, table, timeout, layout, partitionInterval, null);
	}

	/**
	 * Create a store that renews leases with connections of their own.
	 * @param dataSource the database, the same object that the transaction manager has
	 * @param table the name of the table
	 * @param timeout how long a call may take once it has a connection; half of it may be
	 * spent waiting for a lock
	 * @param layout how the records are kept
	 * @param partitionInterval how long a partition is filled
	 * @param renewals the same database by other connections, which handlers cannot use
	 * up; closed with the store if it can be closed. {@code null} to renew leases with
	 * connections of the first one
	 */
	public JdbcIdempotencyStore(DataSource dataSource, TableName table, Duration timeout, Layout layout,
			Duration partitionInterval, @Nullable DataSource renewals) {
		if (timeout.compareTo(MIN_TIMEOUT) < 0) {
			throw new IdempotencyConfigurationException("The time-out of the idempotency store is " + timeout + ".",
					"Set 'idempotency.store.timeout' to " + MIN_TIMEOUT + " or more.");
		}
		this.dataSource = dataSource;
		this.dialect = Databases.dialect(dataSource, layout);
		this.supportsLeases = !Databases.isRouting(dataSource);
		String isolation = Databases.isolation(dataSource, this.dialect);
		this.connections = new Connections(dataSource, this.dialect, isolation);
		this.renewals = renewals;
		this.renewing = (renewals != null) ? new Connections(renewals, this.dialect, isolation) : this.connections;
		TableName qualified = Databases.qualified(dataSource, this.dialect, table);
		this.sql = this.dialect.statements(qualified, timeout.dividedBy(2));
		this.table = table;
		this.timeout = timeout;
		this.claim = new ClaimStatement(this.sql.insert(), this.sql.claim(), this.dialect);
		this.records = new JdbcRecords(this.connections, this.sql.find(),
				this.dialect.records(qualified, timeout.dividedBy(2)), qualified, timeout);
		this.batches = new Batches(this.connections, this.sql.batches(), this.dialect, timeout);
		this.renewedBatches = new Batches(this.renewing, this.sql.batches(), this.dialect, timeout);
		this.partitions = (layout == Layout.PARTITIONED)
				? new Partitions(this.connections, qualified, partitionInterval, ExpiredRows.TIMEOUT) : null;
		this.expired = new ExpiredRows(this.connections, this.dialect.cleanupTurn(qualified), this.sql.deleteExpired(),
				this.dialect.backlog(qualified),
				(this.partitions != null) ? this.partitions.patience() : Duration.ZERO);
	}

	@Override
	public String name() {
		return "jdbc";
	}

	/**
	 * The database of this store.
	 * @return the {@link DataSource} as it was given
	 */
	public DataSource dataSource() {
		return this.dataSource;
	}

	@Override
	public String table() {
		return this.table.toString();
	}

	@Override
	public boolean supportsLeases() {
		return this.supportsLeases;
	}

	@Override
	public Claim claim(ClaimRequest request) {
		return this.connections.autonomous(this.timeout, (connection) -> this.claim.leased(connection, request));
	}

	@Override
	public Settlement complete(ClaimRequest claim, byte @Nullable [] result) {
		return settle(claim, this.sql.complete(), result, claim.key().id(), claim.token());
	}

	@Override
	public Settlement fail(ClaimRequest claim, Failure failure) {
		return settle(claim, this.sql.fail(), failure.type(), failure.message(), claim.key().id(), claim.token());
	}

	@Override
	public Settlement release(ClaimRequest claim) {
		return settle(claim, this.sql.release(), claim.key().id(), claim.token());
	}

	@Override
	public Settlement renew(ClaimRequest claim) {
		return settle(this.renewing, claim, this.sql.renew(), claim.lease().toMillis(), claim.key().id(),
				claim.token());
	}

	@Override
	public Settlement restore(ClaimRequest claim, Claim.Acquired acquired) {
		IdempotencyKey key = claim.key();
		return write(this.sql.restore(), key.id(), key.scope(), key.value(), acquired.fence(), acquired.attempt(),
				claim.token(), claim.fingerprint(), claim.lease().toMillis(), claim.retention().toMillis());
	}

	@Override
	public List<Settlement> renewAll(List<ClaimRequest> claims) {
		return this.renewedBatches.renew(claims);
	}

	@Override
	public List<Claim> claimAll(List<ClaimRequest> requests) {
		return this.batches.claim(requests);
	}

	@Override
	public List<Settlement> completeAll(List<Completion> completions) {
		return this.batches.complete(completions);
	}

	@Override
	public List<Settlement> failAll(List<ClaimRequest> claims, Failure failure) {
		return this.batches.fail(claims, failure);
	}

	@Override
	public List<Settlement> releaseAll(List<ClaimRequest> claims) {
		return this.batches.release(claims);
	}

	@Override
	public Optional<Claim.Acquired> insert(ClaimRequest request) {
		return this.connections.inTransaction(this.timeout, (connection) -> this.claim.inserted(connection, request));
	}

	@Override
	public Claim claimInTransaction(ClaimRequest request, boolean joined) {
		return this.connections.inTransaction(this.timeout, (connection) -> joined
				? this.claim.joined(connection, request) : this.claim.completed(connection, request));
	}

	@Override
	public void storeResult(ClaimRequest claim, byte[] result) {
		this.connections.inTransaction(this.timeout,
				(connection) -> Connections.update(connection, this.sql.storeResult(), result, claim.key().id()));
	}

	@Override
	public void requireCommittable() {
		this.connections.requireCommittable();
	}

	@Override
	public @Nullable String isolationProblem(int isolation) {
		if (this.partitions == null) {
			return null;
		}
		int level = (isolation != TransactionDefinition.ISOLATION_DEFAULT) ? isolation
				: Databases.ask(this.dataSource, Connection::getTransactionIsolation);
		String name = switch (level) {
			case Connection.TRANSACTION_REPEATABLE_READ -> "REPEATABLE READ";
			case Connection.TRANSACTION_SERIALIZABLE -> "SERIALIZABLE";
			default -> null;
		};
		return (name != null)
				? "are " + name + " and the partitioned table '" + this.table + "' takes claims in READ COMMITTED only"
				: null;
	}

	@Override
	public Settlement noteFailure(ClaimRequest claim, Failure failure) {
		IdempotencyKey key = claim.key();
		try {
			return write(this.sql.noteFailure(), key.id(), key.scope(), key.value(), claim.fingerprint(),
					claim.retention().toMillis(), failure.type(), failure.message());
		}
		catch (OperationInProgressException ex) {
			return Settlement.LOST;
		}
	}

	@Override
	public List<Claim> claimAllInTransaction(List<ClaimRequest> requests, boolean joined) {
		return this.batches.claimInTransaction(requests, joined);
	}

	@Override
	public void storeResults(List<Completion> completions) {
		this.batches.storeResults(completions);
	}

	@Override
	public List<Settlement> noteFailures(List<ClaimRequest> claims, Failure failure) {
		return this.batches.noteFailures(claims, failure);
	}

	@Override
	public Optional<IdempotencyRecord> find(IdempotencyKey key) {
		return this.records.find(key);
	}

	@Override
	public Optional<IdempotencyRecords> records() {
		return Optional.of(this.records);
	}

	@Override
	public void ping() {
		find(PING);
	}

	@Override
	public void maintain() {
		if (this.partitions != null) {
			this.partitions.maintain();
		}
	}

	@Override
	public int deleteExpired(int limit, Duration pause) {
		return this.expired.delete(limit, pause);
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
				logger.debug("The connections of renewals could not be closed", ex);
			}
		}
	}

	private Settlement settle(ClaimRequest claim, String statement, @Nullable Object... parameters) {
		return settle(this.connections, claim, statement, parameters);
	}

	private Settlement settle(Connections where, ClaimRequest claim, String statement, @Nullable Object... parameters) {
		return where.autonomous(this.timeout, (connection) -> {
			if (Connections.update(connection, statement, parameters) > 0) {
				return Settlement.SETTLED;
			}
			boolean known = Connections.update(connection, this.sql.find(), claim.key().id()) > 0;
			return known ? Settlement.LOST : Settlement.FORGOTTEN;
		});
	}

	private Settlement write(String statement, @Nullable Object... parameters) {
		int rows = this.connections.autonomous(this.timeout,
				(connection) -> Connections.update(connection, statement, parameters));
		return (rows > 0) ? Settlement.SETTLED : Settlement.LOST;
	}

}
