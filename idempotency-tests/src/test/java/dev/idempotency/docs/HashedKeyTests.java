/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.docs;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.HexFormat;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Runs the example of {@code docs/security.md} that hashes a key.
 */
@Tag("promise-3")
class HashedKeyTests {

	@Test
	void keyIsStoredAsAHash() {
		Servers.addTopics(1, "invitations");
		String database = Servers.newDatabase();
		try (ConfigurableApplicationContext context = TestApp.of(InvitationListener.class).database(database).run()) {
			for (String address : List.of("ada@example.org", "ada@example.org", "bob@example.org")) {
				Kafka.send(new ProducerRecord<>("invitations", 0, null, address));
			}
			InvitationListener listener = TestApp.target(context, InvitationListener.class);
			await().untilAsserted(
					() -> assertThat(listener.invited).containsExactly("ada@example.org", "bob@example.org"));
		}
		assertThat(Servers.jdbc(database).queryForList("SELECT key FROM idempotency_record", String.class)).hasSize(2)
			.allSatisfy((key) -> assertThat(key).matches("[0-9a-f]{64}"));
	}

	static class InvitationListener {

		final Queue<String> invited = new ConcurrentLinkedQueue<>();

		@KafkaListener(topics = "invitations", groupId = "mail")
		@Idempotent(key = "T(dev.idempotency.docs.HashedKeyTests$Hashes).of(#payload)")
		void invite(String address) {
			this.invited.add(address);
		}

	}

	/**
	 * Hashes keys with a secret.
	 */
	public static final class Hashes {

		private static final SecretKeySpec SECRET = new SecretKeySpec(new byte[] { 1, 2, 3 }, "HmacSHA256");

		private Hashes() {
		}

		public static String of(String value) throws GeneralSecurityException {
			Mac mac = Mac.getInstance("HmacSHA256");
			mac.init(SECRET);
			return HexFormat.of().formatHex(mac.doFinal(value.getBytes(StandardCharsets.UTF_8)));
		}

	}

}
