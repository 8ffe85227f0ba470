package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;

import javax.sql.DataSource;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;
import org.springframework.context.Lifecycle;

/**
 * Hears from other instances that there are messages in the outbox. It keeps one
 * connection for that. What it misses, the next look of the relay finds.
 */
final class PostgresNotifications implements Lifecycle {

	private static final Log logger = LogFactory.getLog(PostgresNotifications.class);

	// The longest time that stopping takes.
	private static final Duration SLICE = Duration.ofMillis(500);

	private static final Duration RETRY = Duration.ofSeconds(5);

	private static final int CHECK_EVERY = 60;

	private static final int CHECK_SECONDS = 2;

	private final DataSource dataSource;

	private final TableName table;

	private final Runnable heard;

	private volatile boolean running;

	private volatile @Nullable Thread thread;

	/**
	 * Create a listener.
	 * @param dataSource the database
	 * @param table the outbox
	 * @param heard run when others tell of messages
	 */
	PostgresNotifications(DataSource dataSource, TableName table, Runnable heard) {
		this.dataSource = dataSource;
		this.table = table;
		this.heard = heard;
	}

	@Override
	public void start() {
		this.running = true;
		Thread next = new Thread(this::run, "idempotency-outbox-notifications");
		next.setDaemon(true);
		this.thread = next;
		next.start();
	}

	private void run() {
		boolean warned = false;
		while (isCurrent()) {
			try (Connection connection = this.dataSource.getConnection()) {
				listen(connection);
				warned = false;
			}
			catch (SQLException | RuntimeException | Error ex) {
				if (!warned && isCurrent()) {
					logger.warn("The relay of the outbox '" + this.table + "' cannot hear of messages of other "
							+ "instances and finds them when it looks; the next try comes in " + RETRY, ex);
				}
				warned = true;
				pause();
			}
		}
	}

	private void listen(Connection connection) throws SQLException {
		PGConnection driver = connection.unwrap(PGConnection.class);
		boolean autoCommit = connection.getAutoCommit();
		connection.setAutoCommit(true);
		try {
			try (Statement statement = connection.createStatement()) {
				statement.execute("LISTEN \"" + this.table.table() + "\"");
			}
			// For what was committed before.
			this.heard.run();
			for (int slice = 1; isCurrent(); slice++) {
				PGNotification[] notifications = driver.getNotifications((int) SLICE.toMillis());
				if (notifications != null && notifications.length > 0) {
					this.heard.run();
				}
				// A connection that is dead at the other end says nothing, either.
				if (slice % CHECK_EVERY == 0 && !connection.isValid(CHECK_SECONDS)) {
					throw new SQLException("The connection is dead");
				}
			}
		}
		finally {
			unlisten(connection, autoCommit);
		}
	}

	// The pool gives the connection to others.
	private static void unlisten(Connection connection, boolean autoCommit) throws SQLException {
		if (!connection.isClosed()) {
			try (Statement statement = connection.createStatement()) {
				statement.execute("UNLISTEN *");
			}
			connection.setAutoCommit(autoCommit);
		}
	}

	// One that was stopped and did not end in time must not go on beside its successor.
	private boolean isCurrent() {
		return this.running && this.thread == Thread.currentThread();
	}

	private void pause() {
		synchronized (this) {
			try {
				if (this.running) {
					wait(RETRY.toMillis());
				}
			}
			catch (InterruptedException ex) {
				logger.debug("Somebody has interrupted the pause, who does not end it", ex);
			}
		}
	}

	@Override
	public void stop() {
		synchronized (this) {
			this.running = false;
			notifyAll();
		}
		Thread last = this.thread;
		if (last != null) {
			try {
				last.join(SLICE.multipliedBy(4).toMillis());
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
		}
	}

	@Override
	public boolean isRunning() {
		return this.running;
	}

}
