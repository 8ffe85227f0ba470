package dev.idempotency.autoconfigure;

import javax.sql.DataSource;

import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.jdbc.datasource.DataSourceUtils;

/**
 * {@link AutoConfiguration Auto-configuration} for stores in relational databases.
 *
 * @since 0.1.0
 */
@AutoConfiguration(before = IdempotencyAutoConfiguration.class,
		afterName = { "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration",
				"org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration",
				"org.springframework.boot.hibernate.autoconfigure.HibernateJpaAutoConfiguration",
				"org.springframework.boot.flyway.autoconfigure.FlywayAutoConfiguration",
				"org.springframework.boot.liquibase.autoconfigure.LiquibaseAutoConfiguration",
				"org.springframework.boot.kafka.autoconfigure.KafkaAutoConfiguration" })
@ConditionalOnClass({ DataSource.class, DataSourceUtils.class })
@ConditionalOnBean(DataSource.class)
@ConditionalOnIdempotency
@EnableConfigurationProperties(IdempotencyProperties.class)
public final class IdempotencyJdbcAutoConfiguration {

	@Bean
	IdempotencyStoreFactory jdbcIdempotencyStoreFactory(ConfigurableListableBeanFactory beanFactory,
			IdempotencyProperties properties) {
		return new StoreType(JdbcStoreFactory.TYPE, "a DataSource",
				(definition) -> JdbcStoreFactory.create(beanFactory, properties.cleanup().enabled(), definition));
	}

}
