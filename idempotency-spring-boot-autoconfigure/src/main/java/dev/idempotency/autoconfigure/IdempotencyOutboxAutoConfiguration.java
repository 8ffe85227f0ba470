package dev.idempotency.autoconfigure;

import javax.sql.DataSource;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.slf4j.MDC;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.sql.init.dependency.DependsOnDatabaseInitialization;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Lazy;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.core.ProducerFactory;
import org.springframework.kafka.core.RoutingKafkaTemplate;
import org.springframework.transaction.PlatformTransactionManager;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.autoconfigure.IdempotencyProperties.Jdbc;
import dev.idempotency.autoconfigure.IdempotencyProperties.Relay;
import dev.idempotency.autoconfigure.IdempotencyProperties.Schema;
import dev.idempotency.jdbc.JdbcOutboxStore;
import dev.idempotency.jdbc.JdbcSchemaMigration;
import dev.idempotency.jdbc.JdbcSchemaValidation;
import dev.idempotency.jdbc.TableName;
import dev.idempotency.outbox.Outbox;
import dev.idempotency.outbox.OutboxContext;
import dev.idempotency.outbox.OutboxNotifier;
import dev.idempotency.outbox.OutboxRelay;
import dev.idempotency.outbox.OutboxSerializer;
import dev.idempotency.outbox.OutboxStore;
import dev.idempotency.outbox.TransactionalOutbox;
import dev.idempotency.producer.KafkaOutboxSerializer;
import dev.idempotency.slf4j.OutboxMdc;

/**
 * {@link AutoConfiguration Auto-configuration} for the transactional outbox.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = { IdempotencyJdbcAutoConfiguration.class, IdempotencyAutoConfiguration.class })
@ConditionalOnClass({ DataSourceUtils.class, KafkaTemplate.class })
@ConditionalOnIdempotency
@ConditionalOnBooleanProperty("idempotency.outbox.enabled")
@EnableConfigurationProperties(IdempotencyProperties.class)
@Import(OutboxRelayConfiguration.class)
public final class IdempotencyOutboxAutoConfiguration {

	private static final Log logger = LogFactory.getLog(IdempotencyOutboxAutoConfiguration.class);

	@Bean
	@ConditionalOnMissingBean(OutboxStore.class)
	@DependsOnDatabaseInitialization
	JdbcOutboxStore idempotencyOutboxStore(ConfigurableListableBeanFactory beanFactory,
			ObjectProvider<DataSource> dataSources, IdempotencyProperties properties) {
		Jdbc jdbc = properties.jdbc();
		if (dataSources.stream().findAny().isEmpty()) {
			throw new IdempotencyConfigurationException(
					"'idempotency.outbox.enabled' is 'true', but there is no DataSource.",
					"Configure one with 'spring.datasource', or set 'idempotency.outbox.enabled' to 'false'.");
		}
		DataSource dataSource = Database.find(beanFactory, dataSources, jdbc.dataSource());
		TableName table = TableName.of(properties.outbox().table());
		if (jdbc.schema() == Schema.MIGRATE) {
			JdbcSchemaMigration.migrateOutbox(dataSource, Database.migrations(beanFactory, dataSource), table);
		}
		boolean onlySends = properties.outbox().relay() != Relay.EMBEDDED && !properties.cleanup().enabled();
		if (jdbc.schema() == Schema.NONE) {
			JdbcSchemaValidation.requireOutboxPrivileges(dataSource, table, onlySends);
		}
		else {
			JdbcSchemaValidation.validateOutbox(dataSource, table, onlySends);
		}
		PlatformTransactionManager manager = JdbcTransactionManagers.require(beanFactory, dataSource,
				jdbc.transactionManager());
		// The very object that the manager binds connections to.
		DataSource managed = JdbcTransactionManagers.dataSource(manager);
		boolean logged = properties.outbox().relay() == Relay.DEBEZIUM;
		JdbcOutboxStore store = new JdbcOutboxStore((managed != null) ? managed : dataSource, manager, table,
				properties.store().timeout(), properties.outbox().retention(), logged, properties.outbox().onRefused());
		if (logged) {
			checkConnector(store);
		}
		return store;
	}

	private static void checkConnector(JdbcOutboxStore store) {
		if (store.status().pending() + store.status().setAside() > 0) {
			logger.warn("The outbox '" + store.table()
					+ "' has messages from before 'idempotency.outbox.relay' was 'debezium', "
					+ "which no connector publishes; let an instance with 'embedded' publish them");
		}
		if (!store.isInPublication()) {
			logger.warn("'idempotency.outbox.relay' is 'debezium', but no publication of the database has the table '"
					+ store.table() + "', so a connector with 'pgoutput' publishes none of its messages, now or later; "
					+ "create the publication and the connector before messages are sent");
		}
	}

	@Bean
	@ConditionalOnMissingBean
	OutboxSerializer idempotencyOutboxSerializer(OutboxProducers producers) {
		return new KafkaOutboxSerializer(producers.factory());
	}

	// Lazy: an application with an OutboxSerializer and an OutboxPublisher needs no
	// template.
	@Bean
	@Lazy
	OutboxProducers idempotencyOutboxProducers(ConfigurableListableBeanFactory beanFactory,
			ObjectProvider<KafkaTemplate<?, ?>> templates, ObjectProvider<ProducerFactory<?, ?>> factories,
			IdempotencyProperties properties) {
		String name = properties.outbox().kafkaTemplate();
		if (name != null && !beanFactory.containsBean(name)) {
			throw new IdempotencyConfigurationException("There is no KafkaTemplate '" + name + "' for the outbox.",
					"Correct 'idempotency.outbox.kafka-template'.");
		}
		KafkaTemplate<?, ?> template = (name != null) ? beanFactory.getBean(name, KafkaTemplate.class)
				: templates.getIfUnique();
		if (template == null || template instanceof RoutingKafkaTemplate) {
			throw new IdempotencyConfigurationException(
					"'idempotency.outbox.enabled' is 'true', but there is no KafkaTemplate with one ProducerFactory, or "
							+ "there are several.",
					"Name one with 'idempotency.outbox.kafka-template', or make one @Primary.");
		}
		ProducerFactory<?, ?> factory = template.getProducerFactory();
		// A mock, in a test of the application, has none.
		return new OutboxProducers((factory != null) ? factory : onlyOne(factories));
	}

	private static ProducerFactory<?, ?> onlyOne(ObjectProvider<ProducerFactory<?, ?>> factories) {
		ProducerFactory<?, ?> factory = factories.getIfUnique();
		if (factory == null) {
			throw new IdempotencyConfigurationException(
					"The KafkaTemplate of the outbox has no ProducerFactory, as a mock has none, and there is no ProducerFactory "
							+ "bean, or there are several.",
					"Define one ProducerFactory bean, make one @Primary, or declare an OutboxSerializer and an "
							+ "OutboxPublisher bean.");
		}
		return factory;
	}

	@Bean
	@ConditionalOnMissingBean
	Outbox idempotencyOutbox(OutboxStore store, OutboxSerializer serializer, ObjectProvider<OutboxContext> contexts,
			ObjectProvider<OutboxRelay> relay, ObjectProvider<OutboxNotifier> notifier) {
		return new TransactionalOutbox(store, serializer, contexts.orderedStream().toList(),
				new OutboxWakeUp(relay, notifier));
	}

	/**
	 * What of the sender's diagnostic context travels with its messages.
	 */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass(MDC.class)
	static class DiagnosticContext {

		@Bean
		@ConditionalOnMissingBean
		OutboxMdc idempotencyOutboxMdc(IdempotencyProperties properties) {
			return new OutboxMdc(properties.outbox().mdcKeys());
		}

	}

	/**
	 * How the application makes its producers.
	 *
	 * @param factory the factory
	 */
	record OutboxProducers(ProducerFactory<?, ?> factory) {

	}

}
