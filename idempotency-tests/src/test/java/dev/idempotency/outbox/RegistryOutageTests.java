/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

import com.sun.net.httpserver.HttpServer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.Serializer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.util.backoff.FixedBackOff;

import dev.idempotency.Idempotent;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for an outbox whose serializer needs a server that is down.
 */
@Tag("promise-11")
class RegistryOutageTests {

	private final String input = Servers.newTopic("input", 1);

	private final String output = Servers.newTopic("output", 1);

	@Test
	void recordIsRedeliveredWhileTheRegistryIsDown() throws IOException {
		AtomicBoolean down = new AtomicBoolean(true);
		AtomicInteger requests = new AtomicInteger();
		HttpServer registry = HttpServer.create(new InetSocketAddress("localhost", 0), 0);
		registry.createContext("/", (exchange) -> {
			requests.incrementAndGet();
			if (!down.get()) {
				exchange.sendResponseHeaders(200, -1);
			}
			exchange.close();
		});
		registry.start();
		try (OutboxApp app = OutboxApp.start(
				(settings) -> settings.with("input", this.input)
					.with("output", this.output)
					.with("spring.kafka.producer.value-serializer", Asking.class.getName())
					.with("spring.kafka.producer.properties.registry.port", registry.getAddress().getPort()),
				Handler.class)) {
			Kafka.send(this.input, "payment-1", "7");
			Awaitility.await().untilAsserted(() -> assertThat(requests).hasPositiveValue());
			assertThat(app.jdbc().queryForObject("SELECT count(*) FROM idempotency_outbox", Long.class)).isZero();
			down.set(false);
			Awaitility.await()
				.atMost(Duration.ofSeconds(20))
				.untilAsserted(() -> assertThat(Kafka.read(this.output)).extracting(ConsumerRecord::value)
					.containsExactly("7"));
		}
		finally {
			registry.stop(0);
		}
	}

	/**
	 * Sends each record to the outbox. A record that fails is not retried.
	 */
	static class Handler {

		private final Outbox outbox;

		@Value("${output}")
		private String output;

		Handler(Outbox outbox) {
			this.outbox = outbox;
		}

		@Idempotent
		@KafkaListener(topics = "${input}", groupId = "${input}")
		void handle(String value) {
			this.outbox.send(this.output, "key", value);
		}

		@Bean
		static DefaultErrorHandler errorHandler() {
			return new DefaultErrorHandler(new FixedBackOff(0, 0));
		}

	}

	/**
	 * Fails like a serializer that cannot reach its schema registry.
	 */
	public static final class Asking implements Serializer<String> {

		private String url = "";

		@Override
		public void configure(Map<String, ?> configuration, boolean key) {
			this.url = "http://localhost:" + configuration.get("registry.port") + "/";
		}

		@Override
		public byte[] serialize(String topic, String data) {
			try {
				((HttpURLConnection) URI.create(this.url).toURL().openConnection()).getResponseCode();
				return data.getBytes(StandardCharsets.UTF_8);
			}
			catch (IOException ex) {
				throw new SerializationException("Error registering the schema", ex);
			}
		}

	}

}
