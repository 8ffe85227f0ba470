package dev.idempotency.autoconfigure;

import javax.sql.DataSource;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.sql.init.dependency.DependsOnDatabaseInitialization;
import org.springframework.context.annotation.Bean;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.transaction.PlatformTransactionManager;

import dev.idempotency.autoconfigure.IdempotencyProperties.Jdbc;
import dev.idempotency.autoconfigure.IdempotencyProperties.Schema;
import dev.idempotency.autoconfigure.IdempotencyProperties.StoreType;
import dev.idempotency.jdbc.JdbcIdempotencyStore;
import dev.idempotency.jdbc.JdbcSchemaMigration;
import dev.idempotency.jdbc.JdbcSchemaValidation;
import dev.idempotency.jdbc.Layout;
import dev.idempotency.store.IdempotencyStore;

/**
 * {@link AutoConfiguration Auto-configuration} for the store in a relational database.
 *
 * @since 0.1.0
 */
@AutoConfiguration(afterName = { "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration",
		"org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration",
		"org.springframework.boot.hibernate.autoconfigure.HibernateJpaAutoConfiguration",
		"org.springframework.boot.flyway.autoconfigure.FlywayAutoConfiguration",
		"org.springframework.boot.liquibase.autoconfigure.LiquibaseAutoConfiguration",
		"org.springframework.boot.kafka.autoconfigure.KafkaAutoConfiguration" })
@ConditionalOnClass({ DataSource.class, DataSourceUtils.class })
@ConditionalOnIdempotency
@ConditionalOnStoreType(StoreType.JDBC)
@ConditionalOnBean(DataSource.class)
@ConditionalOnMissingBean(value = IdempotencyStore.class, ignored = JdbcIdempotencyStore.class)
@EnableConfigurationProperties(IdempotencyProperties.class)
public final class IdempotencyJdbcAutoConfiguration {

	private static final Log logger = LogFactory.getLog(IdempotencyJdbcAutoConfiguration.class);

	// The migrations of the application run first. Flyway refuses to run them in a schema
	// that already contains a table of this library.
	@Bean
	@ConditionalOnMissingBean
	@DependsOnDatabaseInitialization
	JdbcIdempotencyStore jdbcIdempotencyStore(ConfigurableListableBeanFactory beanFactory,
			ObjectProvider<DataSource> dataSources, IdempotencyProperties properties) {
		// Checked before the database is changed.
		StoreCandidates.requireOne(beanFactory);
		Jdbc jdbc = properties.jdbc();
		String table = jdbc.table();
		DataSource dataSource = Database.find(beanFactory, dataSources, jdbc.dataSource());
		prepare(beanFactory, dataSource, table, properties);
		PlatformTransactionManager manager = JdbcTransactionManagers.find(beanFactory, dataSource,
				jdbc.transactionManager());
		DataSource used = JdbcTransactionManagers.managed(manager, dataSource);
		JdbcIdempotencyStore store = new JdbcIdempotencyStore(used, table, properties.store().timeout(), jdbc.layout(),
				jdbc.partitionInterval(), RenewalDataSource.forPool(used, properties.store().timeout()));
		if (!store.supportsLeases()) {
			logger.warn("The DataSource of the idempotency store selects its database by thread "
					+ "(AbstractRoutingDataSource). Only transactional mode is possible, a key is stored in one of the "
					+ "databases only, and migration, cleanup, health and the endpoint use the default database only. "
					+ "Create the table '" + table
					+ "' in each database, and delete expired records there periodically");
		}
		return store;
	}

	private static void prepare(ConfigurableListableBeanFactory beanFactory, DataSource dataSource, String table,
			IdempotencyProperties properties) {
		Jdbc jdbc = properties.jdbc();
		if (jdbc.schema() == Schema.MIGRATE) {
			JdbcSchemaMigration.migrate(dataSource, Database.migrations(beanFactory, dataSource), table, jdbc.layout(),
					jdbc.convert());
		}
		if (jdbc.schema() == Schema.NONE) {
			JdbcSchemaValidation.requirePrivileges(dataSource, table, jdbc.layout());
		}
		else {
			JdbcSchemaValidation.validate(dataSource, table, jdbc.layout());
		}
		if (jdbc.layout() == Layout.PARTITIONED && properties.cleanup().enabled()) {
			JdbcSchemaValidation.requireMaintenance(dataSource, table);
		}
	}

}
