/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.docs;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.List;
import java.util.Map;

import javax.crypto.Cipher;
import javax.crypto.SecretKey;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.messaging.handler.annotation.SendTo;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Idempotent;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.template.StoredOutcomeTransformer;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

/**
 * Runs the examples of {@code docs/security.md} that encrypt and drop stored outcomes.
 */
@Tag("promise-8")
class EncryptedOutcomesTests {

	private static final IdempotencyKey KEY = IdempotencyKey.of("credit/applications", "1");

	private static final SecretKey FIRST = new SecretKeySpec(new byte[32], "AES");

	private static final SecretKey SECOND = new SecretKeySpec("0123456789abcdef".getBytes(), "AES");

	@Test
	void duplicatesAreAnsweredFromEncryptedOutcomes() {
		Servers.addTopics(1, "applications", "decisions");
		String database = Servers.newDatabase();
		try (ConfigurableApplicationContext context = TestApp.of(Encrypting.class, CreditListener.class)
			.database(database)
			.run()) {
			send("1", "Ada");
			send("2", "Bob");
			send("1", "Ada");
			send("2", "Bob");
			await().untilAsserted(() -> assertThat(Kafka.read("decisions")).extracting(ConsumerRecord::value)
				.containsExactly("credit for Ada", "none for Bob", "credit for Ada", "none for Bob"));
		}
		List<byte[]> stored = Servers.jdbc(database)
			.queryForList("SELECT result FROM idempotency_record", byte[].class);
		assertThat(stored).hasSize(2).allSatisfy((bytes) -> assertThat(text(bytes)).isNotEmpty());
		assertThat(stored).extracting(EncryptedOutcomesTests::text)
			.noneMatch((text) -> text.contains("Ada") || text.contains("Bob"));
	}

	private static void send(String key, String value) {
		ProducerRecord<String, String> record = new ProducerRecord<>("applications", 0, null, value);
		record.headers().add(Kafka.KEY_HEADER, key.getBytes());
		Kafka.send(record);
	}

	private static String text(byte[] bytes) {
		return new String(bytes, StandardCharsets.ISO_8859_1);
	}

	@Test
	void outcomeIsReadWithTheKeyThatEncryptedIt() {
		byte[] outcome = "credit for Ada".getBytes();
		byte[] stored = new EncryptedOutcomes(Map.of((byte) 1, FIRST), (byte) 1).toStored(KEY, outcome);
		EncryptedOutcomes rotated = new EncryptedOutcomes(Map.of((byte) 1, FIRST, (byte) 2, SECOND), (byte) 2);
		assertThat(rotated.fromStored(KEY, stored)).isEqualTo(outcome);
		byte[] next = rotated.toStored(KEY, outcome);
		assertThat(next[0]).isEqualTo((byte) 2);
		assertThat(rotated.fromStored(KEY, next)).isEqualTo(outcome);
	}

	@Test
	void outcomeOfAnotherKeyIsRefused() {
		EncryptedOutcomes outcomes = new EncryptedOutcomes(Map.of((byte) 1, FIRST), (byte) 1);
		byte[] stored = outcomes.toStored(KEY, "credit for Ada".getBytes());
		assertThatIllegalStateException()
			.isThrownBy(() -> outcomes.fromStored(IdempotencyKey.of(KEY.scope(), "2"), stored));
	}

	@Test
	void outcomesOfOneScopeAreDropped() {
		DroppedOutcomes outcomes = new DroppedOutcomes();
		byte[] outcome = "credit for Ada".getBytes();
		assertThat(outcomes.toStored(KEY, outcome)).isNull();
		assertThat(outcomes.toStored(IdempotencyKey.of("ledger/payments", "1"), outcome)).isEqualTo(outcome);
		assertThat(outcomes.failureMessage(new IllegalStateException("Ada"))).isNull();
	}

	static class Encrypting {

		@Bean
		EncryptedOutcomes encryptedOutcomes() {
			return new EncryptedOutcomes(Map.of((byte) 1, FIRST), (byte) 1);
		}

	}

	/**
	 * Encrypts outcomes with AES-GCM. The first byte names the key, so that keys can be
	 * replaced.
	 */
	static class EncryptedOutcomes implements StoredOutcomeTransformer {

		private static final int NONCE = 12;

		private static final int TAG_BITS = 128;

		private final SecureRandom random = new SecureRandom();

		private final Map<Byte, SecretKey> keys;

		private final byte current;

		EncryptedOutcomes(Map<Byte, SecretKey> keys, byte current) {
			this.keys = keys;
			this.current = current;
		}

		@Override
		public byte[] toStored(IdempotencyKey key, byte[] outcome) {
			byte[] nonce = new byte[NONCE];
			this.random.nextBytes(nonce);
			byte[] encrypted = apply(Cipher.ENCRYPT_MODE, this.current, nonce, key, outcome);
			return ByteBuffer.allocate(1 + NONCE + encrypted.length)
				.put(this.current)
				.put(nonce)
				.put(encrypted)
				.array();
		}

		@Override
		public byte[] fromStored(IdempotencyKey key, byte[] stored) {
			ByteBuffer buffer = ByteBuffer.wrap(stored);
			byte name = buffer.get();
			byte[] nonce = new byte[NONCE];
			buffer.get(nonce);
			byte[] encrypted = new byte[buffer.remaining()];
			buffer.get(encrypted);
			return apply(Cipher.DECRYPT_MODE, name, nonce, key, encrypted);
		}

		private byte[] apply(int mode, byte name, byte[] nonce, IdempotencyKey key, byte[] bytes) {
			try {
				Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
				cipher.init(mode, this.keys.get(name), new GCMParameterSpec(TAG_BITS, nonce));
				// The outcome of one key cannot be copied to another one.
				cipher.updateAAD(key.id().toString().getBytes(StandardCharsets.US_ASCII));
				return cipher.doFinal(bytes);
			}
			catch (GeneralSecurityException ex) {
				throw new IllegalStateException("The encryption key " + name + " is missing or wrong", ex);
			}
		}

	}

	static class DroppedOutcomes implements StoredOutcomeTransformer {

		@Override
		public byte[] toStored(IdempotencyKey key, byte[] outcome) {
			return key.scope().equals("credit/applications") ? null : outcome;
		}

		@Override
		public byte[] fromStored(IdempotencyKey key, byte[] stored) {
			return stored;
		}

	}

	static class CreditListener {

		@KafkaListener(topics = "applications", groupId = "credit")
		@Idempotent
		@SendTo("decisions")
		String decide(String applicant) {
			if (applicant.equals("Bob")) {
				throw new OperationDeclinedException("too much debt", "none for " + applicant);
			}
			return "credit for " + applicant;
		}

	}

}
