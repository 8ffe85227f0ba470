package dev.idempotency.autoconfigure;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.datasource.AbstractDataSource;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.datasource.LazyConnectionDataSourceProxy;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.jdbc.datasource.lookup.AbstractRoutingDataSource;
import org.springframework.util.ClassUtils;

/**
 * The connection with which leases are renewed. Handlers may hold all connections of the
 * pool for longer than a lease, so renewals have one of their own, made from the
 * configuration of the pool. It is opened by the first renewal and closed when none is
 * due any more; if it cannot be opened, the renewal takes one of the pool.
 */
final class RenewalDataSource extends AbstractDataSource implements AutoCloseable {

	private static final Log logger = LogFactory.getLog(RenewalDataSource.class);

	private static final Duration IDLE_TIMEOUT = Duration.ofMinutes(1);

	private final HikariDataSource own;

	private final HikariDataSource model;

	private final DataSource pool;

	private volatile boolean shared;

	private RenewalDataSource(HikariDataSource own, HikariDataSource model, DataSource pool) {
		this.own = own;
		this.model = model;
		this.pool = pool;
	}

	/**
	 * Create the connection beside a pool.
	 * @param pool the pool of the application
	 * @param timeout how long to wait for the connection
	 * @return the connection, {@code null} if the configuration of the pool cannot be
	 * copied: renewals share the pool then
	 */
	static @Nullable RenewalDataSource beside(DataSource pool, Duration timeout) {
		DataSource target = target(pool);
		if (target instanceof AbstractRoutingDataSource) {
			// It has no leases.
			return null;
		}
		// A subclass may change what its connections may do.
		if (!ClassUtils.isPresent("com.zaxxer.hikari.HikariDataSource", RenewalDataSource.class.getClassLoader())
				|| !(target instanceof HikariDataSource hikari) || target.getClass() != HikariDataSource.class) {
			logger.info("Renewals of leases share the pool of the application, because the store's DataSource is not a "
					+ "HikariDataSource itself but a " + target.getClass().getName()
					+ ". In leased mode, make the pool larger "
					+ "than the number of connections that handlers hold at the same time: else leases expire while "
					+ "their handlers run");
			return null;
		}
		return new RenewalDataSource(copy(hikari, timeout), hikari, pool);
	}

	// Another wrapper may change what its connections may do.
	private static DataSource target(DataSource pool) {
		DataSource target = pool;
		while (target instanceof DelegatingDataSource delegating && isTransparent(delegating)
				&& delegating.getTargetDataSource() != null) {
			target = delegating.getTargetDataSource();
		}
		return target;
	}

	private static boolean isTransparent(DelegatingDataSource wrapper) {
		Class<?> type = wrapper.getClass();
		return type == TransactionAwareDataSourceProxy.class || type == LazyConnectionDataSourceProxy.class;
	}

	// Without meters: two pools would register the same.
	private static HikariDataSource copy(HikariDataSource pool, Duration timeout) {
		HikariDataSource copy = new HikariDataSource();
		pool.copyStateTo(copy);
		copy.setPoolName("idempotency-renewals");
		if (copy.getMetricRegistry() != null) {
			copy.setMetricRegistry(null);
		}
		else {
			copy.setMetricsTrackerFactory(null);
		}
		copy.setHealthCheckRegistry(null);
		copy.setRegisterMbeans(false);
		copy.setAllowPoolSuspension(false);
		copy.setMaximumPoolSize(1);
		copy.setMinimumIdle(0);
		copy.setIdleTimeout(IDLE_TIMEOUT.toMillis());
		copy.setInitializationFailTimeout(-1);
		copy.setConnectionTimeout(Math.max(timeout.toMillis(), 250));
		return copy;
	}

	@Override
	public Connection getConnection() throws SQLException {
		// They may be changed while the pool runs.
		this.own.setCredentials(this.model.getCredentials());
		Connection connection;
		try {
			connection = this.own.getConnection();
		}
		catch (SQLException ex) {
			tell(ex);
			return this.pool.getConnection();
		}
		this.shared = false;
		return connection;
	}

	private void tell(SQLException error) {
		if (!this.shared && !this.own.isClosed()) {
			logger.warn("The connection for renewals of leases could not be opened (SQL state " + error.getSQLState()
					+ "), so they take one of the pool of the application until it can. If the database is up, let "
					+ "it accept one connection more for each instance: else leases may expire while handlers hold "
					+ "all connections of the pool");
		}
		this.shared = true;
		logger.debug("No connection of its own could be opened for the renewal of leases", error);
	}

	@Override
	public Connection getConnection(String username, String password) throws SQLException {
		return getConnection();
	}

	@Override
	public void close() {
		this.own.close();
	}

}
