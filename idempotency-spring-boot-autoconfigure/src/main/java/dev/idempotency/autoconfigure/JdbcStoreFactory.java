package dev.idempotency.autoconfigure;

import javax.sql.DataSource;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.transaction.PlatformTransactionManager;

import dev.idempotency.autoconfigure.IdempotencyProperties.Jdbc;
import dev.idempotency.autoconfigure.IdempotencyProperties.Schema;
import dev.idempotency.jdbc.JdbcIdempotencyStore;
import dev.idempotency.jdbc.JdbcSchemaMigration;
import dev.idempotency.jdbc.JdbcSchemaValidation;
import dev.idempotency.jdbc.Layout;
import dev.idempotency.store.IdempotencyStore;

/**
 * Creates stores in relational databases.
 */
final class JdbcStoreFactory implements IdempotencyStoreFactory {

	static final String TYPE = "jdbc";

	private static final Log logger = LogFactory.getLog(JdbcStoreFactory.class);

	private final ConfigurableListableBeanFactory beanFactory;

	private final boolean cleanup;

	JdbcStoreFactory(ConfigurableListableBeanFactory beanFactory, boolean cleanup) {
		this.beanFactory = beanFactory;
		this.cleanup = cleanup;
	}

	@Override
	public String type() {
		return TYPE;
	}

	@Override
	public String candidate() {
		return "a DataSource";
	}

	@Override
	public IdempotencyStore create(Definition definition) {
		Jdbc jdbc = definition.jdbc();
		DataSource dataSource = Database.find(this.beanFactory, jdbc.dataSource(),
				definition.property("jdbc.data-source"));
		prepare(dataSource, jdbc);
		PlatformTransactionManager manager = JdbcTransactionManagers.find(this.beanFactory, dataSource,
				jdbc.transactionManager(), definition.prefix());
		DataSource used = JdbcTransactionManagers.managed(manager, dataSource);
		JdbcIdempotencyStore store = new JdbcIdempotencyStore(used, jdbc.table(), definition.timeout(), jdbc.layout(),
				jdbc.partitionInterval(), RenewalDataSource.forPool(used, definition.timeout()));
		if (!store.supportsLeases()) {
			logger.warn("The DataSource of the idempotency store selects its database by thread "
					+ "(AbstractRoutingDataSource). Only transactional mode is possible, a key is stored in one of the "
					+ "databases only, and migration, cleanup, health and the endpoint use the default database only. "
					+ "Create the table '" + jdbc.table()
					+ "' in each database, and delete expired records there periodically");
		}
		return store;
	}

	private void prepare(DataSource dataSource, Jdbc jdbc) {
		String table = jdbc.table();
		if (jdbc.schema() == Schema.MIGRATE) {
			JdbcSchemaMigration.migrate(dataSource, Database.migrations(this.beanFactory, dataSource), table,
					jdbc.layout());
		}
		if (jdbc.schema() == Schema.NONE) {
			JdbcSchemaValidation.requirePrivileges(dataSource, table, jdbc.layout());
		}
		else {
			JdbcSchemaValidation.validate(dataSource, table, jdbc.layout());
		}
		if (jdbc.layout() == Layout.PARTITIONED && this.cleanup) {
			JdbcSchemaValidation.requireMaintenance(dataSource, table);
		}
	}

}
