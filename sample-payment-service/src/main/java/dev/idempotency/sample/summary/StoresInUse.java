/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.summary;

import java.sql.DatabaseMetaData;
import java.util.List;

import javax.sql.DataSource;

import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.jdbc.support.JdbcUtils;
import org.springframework.jdbc.support.MetaDataAccessException;
import org.springframework.stereotype.Component;
import org.springframework.util.StringUtils;

import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.IdempotencyTemplate;

/**
 * Lists the default store and the stores of {@code idempotency.stores}.
 */
@Component
class StoresInUse {

	private final ListableBeanFactory beanFactory;

	private final DataSource dataSource;

	StoresInUse(ListableBeanFactory beanFactory, DataSource dataSource) {
		this.beanFactory = beanFactory;
		this.dataSource = dataSource;
	}

	// Injection would yield the template of the default store only.
	List<StoreInUse> read() {
		return this.beanFactory.getBeansOfType(IdempotencyTemplate.class)
			.values()
			.stream()
			.map((template) -> new StoreInUse(template.name(), template.store().name(), product(template.store()),
					template.supportsTransactions()))
			.toList();
	}

	private String product(IdempotencyStore store) {
		if (!store.name().equals("jdbc")) {
			return StringUtils.capitalize(store.name());
		}
		try {
			return JdbcUtils.extractDatabaseMetaData(this.dataSource, DatabaseMetaData::getDatabaseProductName);
		}
		catch (MetaDataAccessException ex) {
			return "a database";
		}
	}

}
