/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import javax.sql.DataSource;

import org.apache.camel.CamelContext;
import org.apache.camel.ProducerTemplate;
import org.apache.camel.builder.RouteBuilder;
import org.apache.camel.impl.DefaultCamelContext;
import org.apache.camel.processor.idempotent.jdbc.JdbcMessageIdRepository;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.context.annotation.Bean;
import org.springframework.transaction.annotation.Transactional;

/**
 * Camel's idempotent consumer in a route that the listener calls. Camel's own Kafka
 * component has another poll loop and commits offsets in another way, which would be
 * compared, too.
 */
final class CamelPeers {

	private static final String ROUTE = "direct:charge";

	private static final String HEADER = "Idempotency-Key";

	private CamelPeers() {
	}

	/**
	 * The route.
	 */
	static class Route {

		@Bean(initMethod = "start", destroyMethod = "stop")
		CamelContext camelContext(DataSource dataSource, Charges charges) throws Exception {
			CamelContext context = new DefaultCamelContext();
			context.addRoutes(new RouteBuilder() {

				@Override
				public void configure() {
					from(ROUTE)
						.idempotentConsumer(header(HEADER),
								new JdbcMessageIdRepository(dataSource, BenchmarkListener.PROTECTED))
						.process((exchange) -> charges.charge(String.valueOf(exchange.getMessage().getHeader(HEADER))));
				}

			});
			return context;
		}

		@Bean(destroyMethod = "stop")
		ProducerTemplate producerTemplate(CamelContext context) {
			return context.createProducerTemplate();
		}

	}

	/**
	 * With each key stored in a transaction of its own.
	 */
	static class Separate extends Route {

		@Bean
		Listener listener(ProducerTemplate template) {
			return new Listener(template);
		}

	}

	/**
	 * With each key stored in the transaction of the handler.
	 */
	static class SameTransaction extends Route {

		@Bean
		TransactionalListener listener(ProducerTemplate template) {
			return new TransactionalListener(template);
		}

	}

	/**
	 * A listener without a transaction.
	 */
	static class Listener {

		private final ProducerTemplate template;

		Listener(ProducerTemplate template) {
			this.template = template;
		}

		@BenchmarkListener(BenchmarkListener.PROTECTED)
		void charge(ConsumerRecord<String, String> record) {
			this.template.sendBodyAndHeader(ROUTE, record.value(), HEADER, Workload.key(record));
		}

	}

	/**
	 * A listener with a transaction, which the route joins.
	 */
	static class TransactionalListener {

		private final ProducerTemplate template;

		TransactionalListener(ProducerTemplate template) {
			this.template = template;
		}

		@BenchmarkListener(BenchmarkListener.PROTECTED)
		@Transactional
		void charge(ConsumerRecord<String, String> record) {
			this.template.sendBodyAndHeader(ROUTE, record.value(), HEADER, Workload.key(record));
		}

	}

}
