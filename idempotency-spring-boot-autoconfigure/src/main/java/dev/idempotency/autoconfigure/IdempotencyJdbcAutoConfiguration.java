package dev.idempotency.autoconfigure;

import javax.sql.DataSource;

import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
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
@ConditionalOnIdempotency
@EnableConfigurationProperties(IdempotencyProperties.class)
public final class IdempotencyJdbcAutoConfiguration {

	@Bean
	StoreRequirement jdbcIdempotencyStoreRequirement() {
		return new StoreRequirement(JdbcStoreFactory.TYPE, "there is no DataSource bean, or Spring JDBC is missing",
				"Add 'spring-boot-starter-jdbc' and a JDBC driver, and configure a DataSource");
	}

	/**
	 * The stores.
	 */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass({ DataSource.class, DataSourceUtils.class })
	@ConditionalOnBean(DataSource.class)
	static class Stores {

		@Bean
		JdbcStoreFactory jdbcIdempotencyStoreFactory(ConfigurableListableBeanFactory beanFactory,
				IdempotencyProperties properties) {
			return new JdbcStoreFactory(beanFactory, properties.cleanup().enabled());
		}

	}

}
