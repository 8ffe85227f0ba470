/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.io.Resource;
import org.springframework.core.type.classreading.CachingMetadataReaderFactory;
import org.springframework.core.type.classreading.MetadataReader;

/**
 * Lets all applications of a JVM share what they read from class files, which each would
 * read again.
 */
final class SharedMetadata extends CachingMetadataReaderFactory
		implements ApplicationContextInitializer<ConfigurableApplicationContext> {

	private final Map<Resource, MetadataReader> readers = new ConcurrentHashMap<>();

	SharedMetadata() {
		super(TestApp.class.getClassLoader());
	}

	@Override
	public void initialize(ConfigurableApplicationContext context) {
		// Boot registers its own one unless there is one by this name.
		((BeanDefinitionRegistry) context.getBeanFactory()).registerBeanDefinition(
				"org.springframework.boot.autoconfigure.internalCachingMetadataReaderFactory",
				new RootBeanDefinition(CachingMetadataReaderFactory.class, () -> this));
	}

	@Override
	public MetadataReader getMetadataReader(Resource resource) throws IOException {
		MetadataReader reader = this.readers.get(resource);
		if (reader == null) {
			reader = super.getMetadataReader(resource);
			this.readers.put(resource, reader);
		}
		return reader;
	}

}
