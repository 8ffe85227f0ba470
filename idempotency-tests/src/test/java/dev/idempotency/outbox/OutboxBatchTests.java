/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Idempotent;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.Mode;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for messages that a batch handler sends.
 */
class OutboxBatchTests {

	private final String input = Servers.newTopic("input", 1);

	private final String output = Servers.newTopic("output", 1);

	private String id(String letter) {
		return IdempotencyKey.of(this.input + "#handle", letter).id().toString();
	}

	private List<String> published(int count) {
		Awaitility.await().untilAsserted(() -> assertThat(Kafka.read(this.output)).hasSize(count));
		return Kafka.read(this.output)
			.stream()
			.map((record) -> record.value() + " "
					+ new String(record.headers().lastHeader(OutboxRow.KEY_HEADER).value(), StandardCharsets.UTF_8))
			.map((line) -> line.startsWith("without") ? line : line.substring(0, line.lastIndexOf('-')))
			.toList();
	}

	@Test
	void messagesKeepTheirKeysWhenABatchRunsAgain() {
		try (OutboxApp app = OutboxApp.start((settings) -> settings.with("input", this.input)
			.with("output", this.output)
			.with("spring.kafka.listener.auto-startup", false), Handler.class)) {
			Kafka.send(this.input, "a", "a");
			Kafka.send(this.input, null, "without");
			Kafka.send(this.input, "b", "b");
			app.context().getBean(KafkaListenerEndpointRegistry.class).start();
			List<String> published = published(8);
			assertThat(TestApp.target(app.context(), Handler.class).batches).isEqualTo(2);
			String a = "a " + id("a");
			String b = "b " + id("b");
			assertThat(published).filteredOn((line) -> !line.startsWith("without"))
				.containsExactly(a + "-0", a + "-1", b + "-0", a + "-0", a + "-1", b + "-0");
			// The messages have the same topic and type.
			assertThat(published).filteredOn((line) -> line.startsWith("without")).hasSize(2).doesNotHaveDuplicates();
		}
	}

	/**
	 * Fails in the first batch after the commit of its transaction.
	 */
	static class Handler {

		@Value("${output}")
		private String output;

		private final Outbox outbox;

		private final TransactionTemplate transactions;

		private volatile int batches;

		Handler(Outbox outbox, PlatformTransactionManager manager) {
			this.outbox = outbox;
			this.transactions = new TransactionTemplate(manager);
		}

		@Idempotent(scope = "${input}#handle", mode = Mode.LEASED, onMissingKey = MissingKeyPolicy.PROCESS)
		@KafkaListener(topics = "${input}", groupId = "${input}", batch = "true")
		void handle(List<ConsumerRecord<String, String>> records) {
			this.batches++;
			this.transactions.executeWithoutResult((status) -> this.outbox.send(messages(records)));
			if (this.batches == 1) {
				throw new IllegalStateException("After its transaction");
			}
		}

		private List<OutboxMessage> messages(List<ConsumerRecord<String, String>> records) {
			List<@Nullable IdempotentExecution> executions = IdempotentExecution.currentBatch();
			List<OutboxMessage> messages = new ArrayList<>();
			for (int i = 0; i < records.size(); i++) {
				String value = records.get(i).value();
				OutboxMessage message = OutboxMessage.to(this.output)
					.key("key")
					.payload(value)
					.cause(executions.get(i))
					.build();
				messages.addAll(Collections.nCopies(value.equals("a") ? 2 : 1, message));
			}
			return messages;
		}

	}

}
