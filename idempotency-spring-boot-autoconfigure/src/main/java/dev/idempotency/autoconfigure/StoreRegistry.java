/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;

import javax.sql.DataSource;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.NoUniqueBeanDefinitionException;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.transaction.PlatformTransactionManager;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.autoconfigure.IdempotencyAutoConfiguration.StoreCaches;
import dev.idempotency.autoconfigure.IdempotencyAutoConfiguration.StoreCircuits;
import dev.idempotency.autoconfigure.IdempotencyProperties.NamedStore;
import dev.idempotency.autoconfigure.IdempotencyProperties.UnavailablePolicy;
import dev.idempotency.autoconfigure.IdempotencyStoreFactory.Definition;
import dev.idempotency.jdbc.JdbcIdempotencyStore;
import dev.idempotency.migration.MigratingStore;
import dev.idempotency.migration.OffsetMarkCopy;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.CompletionCache;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.Observers;
import dev.idempotency.template.OperationContext;
import dev.idempotency.template.OperationSpec;
import dev.idempotency.template.Serialization;
import dev.idempotency.template.StoreCircuit;
import dev.idempotency.template.StoredOutcomeTransformer;

/**
 * Creates the default store, the stores of {@code idempotency.stores}, and a template for
 * each, and finds the template that a listener uses.
 *
 * @param beanFactory the beans of the application
 * @param properties the properties of the stores
 */
record StoreRegistry(ConfigurableListableBeanFactory beanFactory, IdempotencyProperties properties) {

	static final String BEAN = "idempotencyStoreRegistry";

	private static final Log logger = LogFactory.getLog(StoreRegistry.class);

	IdempotencyStore createStore(String name) {
		Definition definition = definition(name);
		NamedStore named = this.properties.stores().get(name);
		IdempotencyConfigurationException.check(named != null || name.equals(StoreNames.DEFAULT),
				"'idempotency.stores." + name + "' contains no property of a store.",
				"Set 'idempotency.stores." + name + ".type', or correct the names of its properties.");
		String type = (named != null) ? named.type() : this.properties.store().type();
		return selection().select(type, definition.property((named != null) ? "type" : "store.type"))
			.create(definition);
	}

	// The store bean stays the store that is written, which is what tests and checks of
	// its server look for.
	private IdempotencyStore migrating(String name, IdempotencyStore store,
			@Nullable PlatformTransactionManager transactions) {
		String from = migrateFrom(name);
		if (from == null) {
			return store;
		}
		checkSource(name, from);
		IdempotencyTemplate source = template(from, name);
		String target = name.equals(StoreNames.DEFAULT) ? store.name() : name;
		logger.info("The keys of the idempotency store '" + source.name() + "' move to the store '" + target
				+ "'. Instances that use only the store '" + source.name() + "' must not run at the same time.");
		OffsetMarkCopy.copy(source.name(), source.store(), store, transactions);
		if (transactions != null && this.properties.key().onMissing() == null && OffsetMarkCopy.marks(store).isPresent()
				&& OffsetMarkCopy.marks(source.store()).isEmpty()) {
			logger
				.warn("The idempotency store '" + source.name() + "' has no marks of offsets. Listeners of the store '"
						+ target + "' therefore use the coordinates of a record without a key as its key. Set "
						+ "'idempotency.key.on-missing' to 'record-coordinates', so that they still do when '"
						+ migrateProperty(name) + "' is removed");
		}
		return (transactions != null && store instanceof JdbcIdempotencyStore own) ? migrating(source, own, target)
				: MigratingStore.of(source.store(), store);
	}

	// The transaction of a handler may hold the last connection of its pool when a claim
	// reads the source, and when it looks up the key in the target beside the transaction
	// or continues its attempts there.
	private static IdempotencyStore migrating(IdempotencyTemplate source, JdbcIdempotencyStore own, String target) {
		if (own.reader() == null) {
			logger.warn("While keys move to the store '" + target + "', a transaction of a listener takes a second "
					+ "connection of the same pool for what the store '" + source.name()
					+ "' knows. Make the pool larger than the number of consumers; otherwise they wait for each other, "
					+ "and nothing is processed");
		}
		return MigratingStore.of(source.store(), own, (store) -> aside(store, own.dataSource()));
	}

	private static IdempotencyStore aside(IdempotencyStore store, DataSource pool) {
		JdbcIdempotencyStore aside = (store instanceof JdbcIdempotencyStore jdbc && jdbc.dataSource() == pool)
				? jdbc.reader() : null;
		return (aside != null) ? aside : store;
	}

	private void checkSource(String name, String from) {
		Set<String> chain = new LinkedHashSet<>(List.of(name));
		for (String next = from; next != null; next = migrateFrom(next)) {
			boolean known = next.equals(StoreNames.DEFAULT) || this.properties.stores().containsKey(next);
			IdempotencyConfigurationException.check(known && chain.add(next),
					"The store '" + name + "' migrates from the store '" + from + "', "
							+ (known ? "which migrates from it: " + chain : "but there is no store '" + next + "'")
							+ ".",
					"Set '" + migrateProperty(name) + "' to the name of another store in "
							+ "'idempotency.stores', or to '" + StoreNames.DEFAULT + "'.");
		}
	}

	private static String migrateProperty(String name) {
		return (name.equals(StoreNames.DEFAULT) ? "idempotency.store" : "idempotency.stores." + name) + ".migrate-from";
	}

	private @Nullable String migrateFrom(String name) {
		NamedStore named = this.properties.stores().get(name);
		return (named != null) ? named.migrateFrom() : this.properties.store().migrateFrom();
	}

	// The keys of the other store would be unknown without a word.
	private void checkMigrated(IdempotencyStore defaultStore) {
		IdempotencyConfigurationException.check(
				this.properties.store().migrateFrom() == null || defaultStore instanceof MigratingStore,
				"'idempotency.store.migrate-from' is set, but the application declares its own "
						+ "IdempotencyTemplate bean, to which it does not apply.",
				"Remove the bean, or remove the property.");
	}

	IdempotencyTemplate createTemplate(String name) {
		return createTemplate(name, this.beanFactory.getBean(NamedStores.storeBean(name), IdempotencyStore.class),
				this.beanFactory.getBeanProvider(StoreCircuits.class)
					.getIfAvailable(() -> (store) -> StoreCircuit.ALWAYS_CLOSED)
					.create(name),
				this.beanFactory.getBeanProvider(StoreCaches.class)
					.getIfAvailable(() -> () -> CompletionCache.NONE)
					.create());
	}

	IdempotencyTemplate createTemplate(String name, IdempotencyStore store, StoreCircuit circuit,
			CompletionCache cache) {
		PlatformTransactionManager transactions = transactionManager(name, store);
		// The JsonMapper of the serialization may need beans that use the template.
		OperationSpec.Defaults defaults = new OperationSpec.Defaults(this.properties.mode(), this.properties.lease(),
				this.properties.retention(), this.properties.version().retention(),
				this.beanFactory.getBeanProvider(Serialization.class)::getIfUnique);
		return new IdempotencyTemplate(migrating(name, store, transactions),
				new Settings(name.equals(StoreNames.DEFAULT) ? null : name, transactions,
						onUnavailable(name) == UnavailablePolicy.PROCESS, circuit, cache,
						Observers.of(this.beanFactory),
						this.beanFactory.getBeanProvider(OperationContext.class).orderedStream().toList(),
						this.properties.result().maximumSize(), transformer(), defaults));
	}

	private @Nullable StoredOutcomeTransformer transformer() {
		try {
			return this.beanFactory.getBeanProvider(StoredOutcomeTransformer.class).getIfAvailable();
		}
		catch (NoUniqueBeanDefinitionException ex) {
			throw new IdempotencyConfigurationException(
					"There are several StoredOutcomeTransformer beans: " + ex.getBeanNamesFound() + ".",
					"Keep one of them, which applies to all stores, or mark one as @Primary.");
		}
	}

	// The store's own manager, also for a JDBC store that the application declares.
	private @Nullable PlatformTransactionManager transactionManager(String name, IdempotencyStore store) {
		Definition definition = definition(name);
		return (StoreTarget.withoutProxies(store) instanceof JdbcIdempotencyStore jdbc) ? JdbcTransactionManagers.find(
				this.beanFactory, jdbc.dataSource(), definition.jdbc().transactionManager(), definition.prefix(),
				(problem) -> logger.warn(problem + ". Listeners in mode AUTO use leased mode. Declare a "
						+ "JdbcTransactionManager bean to use transactional mode"))
				: null;
	}

	// Return the templates of the default store and of the named stores.
	Map<String, IdempotencyTemplate> templates() {
		Map<String, IdempotencyTemplate> templates = new LinkedHashMap<>();
		IdempotencyTemplate defaultTemplate = this.beanFactory.getBeanProvider(IdempotencyTemplate.class)
			.getIfAvailable();
		if (defaultTemplate != null) {
			checkMigrated(defaultTemplate.store());
			templates.put(StoreNames.DEFAULT, defaultTemplate);
		}
		this.properties.stores()
			.keySet()
			.forEach((name) -> templates.put(name,
					this.beanFactory.getBean(NamedStores.templateBean(name), IdempotencyTemplate.class)));
		if (defaultTemplate != null && templates.containsKey(defaultTemplate.name())) {
			throw new IdempotencyConfigurationException(
					"'idempotency.stores' contains the name '" + defaultTemplate.name()
							+ "', which is the name of the default store in meters and messages.",
					"Choose another name.");
		}
		return templates;
	}

	// Return a part of each template by its name in meters and messages.
	<T> Map<String, T> byName(Function<IdempotencyTemplate, T> part) {
		Map<String, T> parts = new LinkedHashMap<>();
		templates().values().forEach((template) -> parts.put(template.name(), part.apply(template)));
		return parts;
	}

	// Records of listeners with the same scope would meet, and each store would clean up
	// and count those of the other.
	Collection<IdempotencyTemplate> distinctTemplates() {
		Map<String, IdempotencyTemplate> distinct = new LinkedHashMap<>();
		templates().forEach((name, template) -> {
			distinct.forEach((other, earlier) -> requireDistinct(other, earlier, name, template));
			distinct.put(name, template);
		});
		return distinct.values();
	}

	private void requireDistinct(String one, IdempotencyTemplate first, String other, IdempotencyTemplate second) {
		StoreTarget.sharedRecords(first.store(), second.store()).ifPresent((property) -> {
			throw new IdempotencyConfigurationException(
					"The stores '" + one + "' and '" + other + "' have the same records, because both use the same '"
							+ property + "' in the same place.",
					"Set '" + definition(other).property(property)
							+ "' to another name, or let the listeners use one of the stores.");
		});
	}

	// Find the template that a listener uses.
	IdempotencyTemplate template(String name, String listener) {
		if (this.properties.stores().containsKey(name)) {
			return this.beanFactory.getBean(NamedStores.templateBean(name), IdempotencyTemplate.class);
		}
		if (!name.isEmpty() && !name.equals(StoreNames.DEFAULT)) {
			return bean(name, listener);
		}
		IdempotencyTemplate template = this.beanFactory.getBeanProvider(IdempotencyTemplate.class).getIfAvailable();
		if (template == null) {
			throw selection().missing(this.properties.store().type(), "idempotency.store.type");
		}
		return template;
	}

	private IdempotencyTemplate bean(String name, String listener) {
		if (!this.beanFactory.containsBean(name) || !this.beanFactory.isTypeMatch(name, IdempotencyTemplate.class)) {
			throw new IdempotencyConfigurationException(
					"The idempotent listener " + listener + " uses the store '" + name + "', which does not exist.",
					"Define 'idempotency.stores." + name
							+ ".type', or set 'store' of @Idempotent to one of these names: " + templates().keySet()
							+ ".");
		}
		return this.beanFactory.getBean(name, IdempotencyTemplate.class);
	}

	private StoreSelection selection() {
		return new StoreSelection(
				this.beanFactory.getBeanProvider(IdempotencyStoreFactory.class).orderedStream().toList());
	}

	Definition definition(String name) {
		NamedStore named = this.properties.stores().get(name);
		Duration timeout = this.properties.store().timeout();
		return (named != null) ? new Definition(name, "idempotency.stores." + name,
				Objects.requireNonNullElse(named.timeout(), timeout), named.jdbc(), named.redis(), named.dynamodb())
				: new Definition(name, "idempotency", timeout, this.properties.jdbc(), this.properties.redis(),
						this.properties.dynamodb());
	}

	private UnavailablePolicy onUnavailable(String name) {
		NamedStore named = this.properties.stores().get(name);
		UnavailablePolicy byDefault = this.properties.store().onUnavailable();
		return (named != null) ? Objects.requireNonNullElse(named.onUnavailable(), byDefault) : byDefault;
	}

}
