/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.stream;

import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.config.ConfigResource;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import dev.idempotency.Idempotent;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the outputs of idempotent functions that cannot be sent.
 */
class FunctionOutputTests {

	@Test
	void outputThatWasNotSentIsSentWhenTheRecordIsSentAgain() throws Exception {
		StreamApp.createTopic("large-out", 1);
		maximumSize("200");
		String id = UUID.randomUUID().toString();
		try (StreamApp app = StreamApp.start(Functions.class, StreamApp.bindings("large"),
				"spring.cloud.stream.bindings.large-out-0.destination=large-out",
				"spring.cloud.stream.kafka.bindings.large-out-0.producer.sync=true")) {
			StreamApp.send("large", id, id);
			assertThat(StreamApp.read("error.large.test", 1)).containsExactly(id);
			maximumSize("100000");
			StreamApp.send("large", id, id);
			assertThat(StreamApp.read("large-out", 1)).singleElement().asString().hasSize(id.length() * 20);
			assertThat(app.bean(Functions.class).calls).containsExactly(id);
		}
	}

	private static void maximumSize(String bytes) throws Exception {
		try (Admin admin = Admin.create(Map.of("bootstrap.servers", StreamApp.brokers()))) {
			admin
				.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.TOPIC, "large-out"),
						List.of(new AlterConfigOp(new ConfigEntry("max.message.bytes", bytes), OpType.SET))))
				.all()
				.get();
		}
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Functions {

		private final List<String> calls = new CopyOnWriteArrayList<>();

		@Bean
		@Idempotent
		Function<String, String> large() {
			return (id) -> {
				this.calls.add(id);
				return id.repeat(20);
			};
		}

	}

}
