/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import javax.sql.DataSource;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.slf4j.MDC;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.sql.init.dependency.DependsOnDatabaseInitialization;
import org.springframework.context.Lifecycle;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.format.annotation.DurationFormat;
import org.springframework.format.datetime.standard.DurationFormatterUtils;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.core.ProducerFactory;
import org.springframework.kafka.core.RoutingKafkaTemplate;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.util.ClassUtils;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.autoconfigure.IdempotencyProperties.Cleanup;
import dev.idempotency.autoconfigure.IdempotencyProperties.Jdbc;
import dev.idempotency.autoconfigure.IdempotencyProperties.Relay;
import dev.idempotency.autoconfigure.IdempotencyProperties.Schema;
import dev.idempotency.cleanup.CleanupJob;
import dev.idempotency.jdbc.JdbcOutboxStore;
import dev.idempotency.jdbc.JdbcSchemaMigration;
import dev.idempotency.jdbc.JdbcSchemaValidation;
import dev.idempotency.outbox.Outbox;
import dev.idempotency.outbox.OutboxContext;
import dev.idempotency.outbox.OutboxLoop;
import dev.idempotency.outbox.OutboxNotifier;
import dev.idempotency.outbox.OutboxObserver;
import dev.idempotency.outbox.OutboxPublisher;
import dev.idempotency.outbox.OutboxRelay;
import dev.idempotency.outbox.OutboxRow;
import dev.idempotency.outbox.OutboxSerializer;
import dev.idempotency.outbox.OutboxStatusReporter;
import dev.idempotency.outbox.OutboxStore;
import dev.idempotency.producer.KafkaOutboxPublisher;
import dev.idempotency.producer.KafkaOutboxSerializer;
import dev.idempotency.slf4j.OutboxMdc;
import dev.idempotency.template.Observers;

/**
 * The outbox: its table, the serialization of messages, and a relay in this instance or
 * notifications to the relays of other instances.
 */
@Configuration(proxyBeanMethods = false)
@ConditionalOnClass({ DataSourceUtils.class, KafkaTemplate.class })
class OutboxConfiguration {

	private static final Log logger = LogFactory.getLog(OutboxConfiguration.class);

	// Absent when the application uses another database.
	private static final String DRIVER = "org.postgresql.PGConnection";

	@Bean
	@ConditionalOnMissingBean(OutboxStore.class)
	@DependsOnDatabaseInitialization
	JdbcOutboxStore idempotencyOutboxStore(ConfigurableListableBeanFactory beanFactory,
			ObjectProvider<DataSource> dataSources, IdempotencyProperties properties) {
		Jdbc jdbc = properties.jdbc();
		IdempotencyConfigurationException.check(dataSources.stream().findAny().isPresent(),
				"'idempotency.outbox.enabled' is 'true', but there is no DataSource bean.",
				"Set 'spring.datasource.url', or set 'idempotency.outbox.enabled' to 'false'.");
		DataSource dataSource = Database.find(beanFactory, jdbc.dataSource(), "idempotency.jdbc.data-source");
		String table = properties.outbox().table();
		if (jdbc.schema() == Schema.MIGRATE) {
			JdbcSchemaMigration.migrateOutbox(dataSource, Database.migrations(beanFactory, dataSource), table);
		}
		boolean onlySends = properties.outbox().relay() != Relay.EMBEDDED && !properties.cleanup().enabled();
		JdbcSchemaValidation.validateOutbox(dataSource, table, onlySends, jdbc.schema() != Schema.NONE);
		PlatformTransactionManager manager = Objects.requireNonNull(JdbcTransactionManagers.find(beanFactory,
				dataSource, jdbc.transactionManager(), "idempotency", (problem) -> {
					throw new IdempotencyConfigurationException(
							"The outbox has no transaction manager for its DataSource. " + problem + ".",
							"Declare a JdbcTransactionManager bean.");
				}));
		boolean logged = properties.outbox().relay() == Relay.DEBEZIUM;
		JdbcOutboxStore store = new JdbcOutboxStore(JdbcTransactionManagers.managed(manager, dataSource), manager,
				table, properties.store().timeout(), properties.outbox().retention(), logged,
				properties.outbox().onDeadLetter());
		if (logged) {
			checkConnector(store);
		}
		return store;
	}

	private static void checkConnector(JdbcOutboxStore store) {
		if (store.status().pending() + store.status().deadLetters() > 0) {
			logger.warn("The outbox '" + store.table()
					+ "' contains messages from before 'idempotency.outbox.relay' was set to 'debezium'. "
					+ "No connector publishes them. Run an instance with 'embedded' until they are published");
		}
		if (!store.isInPublication()) {
			logger.warn(
					"'idempotency.outbox.relay' is 'debezium', but no publication of the database contains the table '"
							+ store.table()
							+ "'. A connector with 'pgoutput' will never publish messages that are sent "
							+ "now. Create the publication and the connector before the application sends messages");
		}
	}

	@Bean
	@ConditionalOnMissingBean
	OutboxSerializer idempotencyOutboxSerializer(OutboxProducers producers) {
		return new KafkaOutboxSerializer(producers.factory());
	}

	// Lazy, because an application that declares an OutboxSerializer and an
	// OutboxPublisher needs no KafkaTemplate.
	@Bean
	@Lazy
	OutboxProducers idempotencyOutboxProducers(ConfigurableListableBeanFactory beanFactory,
			ObjectProvider<KafkaTemplate<?, ?>> templates, ObjectProvider<ProducerFactory<?, ?>> factories,
			IdempotencyProperties properties) {
		String name = properties.outbox().kafkaTemplate();
		KafkaTemplate<?, ?> template = (name != null)
				? Database.named(beanFactory, name, KafkaTemplate.class, "idempotency.outbox.kafka-template")
				: templates.getIfUnique();
		List<KafkaTemplate<?, ?>> candidates = (template != null) ? List.of(template) : templates.stream().toList();
		boolean routing = candidates.stream().anyMatch(RoutingKafkaTemplate.class::isInstance);
		// A mock of the application's tests has no ProducerFactory. Spring adds it to the
		// template of Boot unless the types of key and value are the same.
		Set<ProducerFactory<?, ?>> found = routing ? Set.of()
				: candidates.stream()
					.flatMap((candidate) -> Stream.<ProducerFactory<?, ?>>ofNullable(candidate.getProducerFactory()))
					.collect(Collectors.toSet());
		IdempotencyConfigurationException.check(!candidates.isEmpty() && !routing && found.size() <= 1,
				"'idempotency.outbox.enabled' is 'true', but there is no KafkaTemplate bean with one ProducerFactory, "
						+ "or there are several.",
				"Set 'idempotency.outbox.kafka-template', or mark one KafkaTemplate bean as @Primary.");
		ProducerFactory<?, ?> factory = found.isEmpty() ? factories.getIfUnique() : found.iterator().next();
		IdempotencyConfigurationException.check(factory != null,
				"The KafkaTemplate of the outbox has no ProducerFactory (a mock has none), and there is no "
						+ "ProducerFactory bean, or there are several.",
				"Declare one ProducerFactory bean, mark one as @Primary, or declare an OutboxSerializer and an "
						+ "OutboxPublisher bean.");
		return new OutboxProducers(factory);
	}

	// A commit wakes the relay of this instance, or the notifier of the others.
	@Bean
	@ConditionalOnMissingBean
	Outbox idempotencyOutbox(OutboxStore store, OutboxSerializer serializer, ObjectProvider<OutboxContext> contexts,
			ObjectProvider<OutboxLoop> relays) {
		return Outbox.of(store, serializer, contexts.orderedStream().toList(), () -> relays.forEach(OutboxLoop::wake));
	}

	@Bean
	@ConditionalOnProperty(name = "idempotency.outbox.relay", havingValue = "none")
	OutboxNotifier idempotencyOutboxNotifier(OutboxStore store) {
		return new OutboxNotifier(store);
	}

	// Published rows have to be deleted in every mode, also when another instance or a
	// connector publishes them.
	@Bean
	LifecycleGroup idempotencyOutboxLifecycle(OutboxStore outboxStore, ObjectProvider<JdbcOutboxStore> stores,
			IdempotencyProperties properties, BeanFactory beanFactory, ObjectProvider<OutboxObserver> outboxListeners,
			ObjectProvider<OutboxRelay> relay) {
		List<Lifecycle> parts = new ArrayList<>();
		parts.add(new OutboxStatusReporter(outboxStore, outboxListeners.orderedStream().toList()));
		Cleanup cleanup = properties.cleanup();
		IdempotencyProperties.Outbox outbox = properties.outbox();
		logger.info("Outbox '" + outboxStore.table() + "': " + publisher(outbox.relay())
				+ " Published messages are kept for "
				+ DurationFormatterUtils.print(outbox.retention(), DurationFormat.Style.COMPOSITE));
		stores.ifAvailable((store) -> {
			if (cleanup.enabled()) {
				parts.add(new CleanupJob(store.expired(), cleanup.settings(), Observers.of(beanFactory)));
			}
			relay.ifAvailable((target) -> {
				if (outbox.listen() && ClassUtils.isPresent(DRIVER, null)) {
					store.notifications(target::wake).ifPresent(parts::add);
				}
			});
		});
		return new LifecycleGroup(SmartLifecycle.DEFAULT_PHASE, parts);
	}

	private static String publisher(Relay relay) {
		return switch (relay) {
			case EMBEDDED -> "this instance publishes messages (relay 'embedded').";
			case NONE -> "another instance must publish messages (relay 'none').";
			case DEBEZIUM -> "a connector must publish messages (relay 'debezium').";
		};
	}

	@Configuration(proxyBeanMethods = false)
	@ConditionalOnProperty(name = "idempotency.outbox.relay", havingValue = "embedded", matchIfMissing = true)
	static class Embedded {

		@Bean
		@ConditionalOnMissingBean
		OutboxPublisher idempotencyOutboxPublisher(OutboxProducers producers, IdempotencyProperties properties) {
			// Listeners with the same configuration as this application read the key from
			// these headers.
			List<String> headers = properties.key().headers();
			Set<String> keyHeaders = headers.contains(OutboxRow.KEY_HEADER) ? Set.of()
					: headers.stream().filter((name) -> !name.contains("+")).limit(1).collect(Collectors.toSet());
			return new KafkaOutboxPublisher(producers.factory(), properties.outbox().sendTimeout(), keyHeaders);
		}

		@Bean
		@ConditionalOnMissingBean
		OutboxRelay idempotencyOutboxRelay(OutboxStore store, OutboxPublisher publisher,
				IdempotencyProperties properties, ObjectProvider<OutboxObserver> listeners) {
			IdempotencyProperties.Outbox outbox = properties.outbox();
			OutboxRelay.Settings settings = new OutboxRelay.Settings(outbox.batchSize(), outbox.pollInterval(),
					outbox.sendTimeout(), outbox.maxAttempts(), outbox.maxBackOff(), outbox.stopTimeout(),
					outbox.threads());
			return new OutboxRelay(store, publisher, settings, listeners.orderedStream().toList());
		}

	}

	/**
	 * Copies the selected keys of the sender's diagnostic context (MDC) into headers.
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
	 * The producer factory of the application, which serializes and publishes the
	 * messages.
	 *
	 * @param factory the factory
	 */
	record OutboxProducers(ProducerFactory<?, ?> factory) {

	}

}
