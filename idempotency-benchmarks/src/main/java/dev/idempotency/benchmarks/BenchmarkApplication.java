/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import javax.sql.DataSource;

import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;

/**
 * The beans that both listeners of every comparison share.
 */
@SpringBootConfiguration(proxyBeanMethods = false)
@EnableAutoConfiguration
class BenchmarkApplication {

	@Bean
	Meter meter() {
		return new Meter();
	}

	@Bean
	static BeanPostProcessor countedDataSource() {
		return new BeanPostProcessor() {

			@Override
			public Object postProcessAfterInitialization(Object bean, String beanName) {
				return (bean instanceof DataSource dataSource) ? new CountedDataSource(dataSource) : bean;
			}

		};
	}

}
