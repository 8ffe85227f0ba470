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

	private final DataSource pool;

	private RenewalDataSource(HikariDataSource own, DataSource pool) {
		this.own = own;
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
		DataSource target = pool;
		while (target instanceof DelegatingDataSource delegating && delegating.getTargetDataSource() != null) {
			target = delegating.getTargetDataSource();
		}
		if (target instanceof AbstractRoutingDataSource) {
			// It has no leases.
			return null;
		}
		// Another wrapper may change what its connections may do.
		if (!ClassUtils.isPresent("com.zaxxer.hikari.HikariDataSource", RenewalDataSource.class.getClassLoader())
				|| !(target instanceof HikariDataSource hikari)) {
			logger.info("Renewals of leases share the pool of the application, because the store's DataSource is no "
					+ "HikariDataSource but a " + target.getClass().getName()
					+ ". In leased mode, make the pool larger "
					+ "than the number of connections that handlers hold at the same time: else leases expire while "
					+ "their handlers run");
			return null;
		}
		return new RenewalDataSource(copy(hikari, timeout), pool);
	}

	// Without meters: two pools would register the same.
	private static HikariDataSource copy(HikariDataSource pool, Duration timeout) {
		HikariDataSource copy = new HikariDataSource();
		pool.copyStateTo(copy);
		copy.setPoolName("idempotency-renewals");
		copy.setMetricsTrackerFactory(null);
		copy.setMetricRegistry(null);
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
		try {
			return this.own.getConnection();
		}
		catch (SQLException ex) {
			logger.debug("No connection of its own could be opened for the renewal of leases", ex);
			return this.pool.getConnection();
		}
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
