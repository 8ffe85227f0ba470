/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.redis;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Objects;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.Fingerprint;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore.Settlement;

/**
 * Reads the replies of {@link RecordScripts}. A reply is one text: a server writes each
 * part of an array to the network separately, which takes longer than the script.
 */
final class Replies {

	private Replies() {
	}

	static Claim claim(ClaimRequest request, byte[] reply) {
		Reader reader = new Reader(reply);
		char letter = reader.letter();
		if (letter == 'V') {
			Fingerprint.notCompared(request.key());
			letter = reader.letter();
		}
		return switch (letter) {
			case 'A' -> new Claim.Acquired((int) reader.number(), (int) reader.number());
			case 'C' -> new Claim.Completed(result(reader));
			case 'M' -> new Claim.Mismatch();
			case 'T' -> new Claim.Stale(Objects.requireNonNull(reader.version()));
			default -> new Claim.InProgress(Duration.ofMillis(reader.number()));
		};
	}

	static Settlement settlement(byte[] reply) {
		return switch (reply[0]) {
			case 'S' -> Settlement.SETTLED;
			case 'N' -> Settlement.FORGOTTEN;
			default -> Settlement.LOST;
		};
	}

	static byte @Nullable [] result(byte[] reply) {
		return (reply.length > 0) ? result(new Reader(reply)) : null;
	}

	private static byte @Nullable [] result(Reader reader) {
		return (reader.letter() == RecordScripts.RESULT) ? reader.rest() : null;
	}

	private static @Nullable Failure failure(Reader reader) {
		if (reader.letter() != RecordScripts.FAILURE) {
			return null;
		}
		String text = new String(reader.rest(), StandardCharsets.UTF_8);
		int end = text.indexOf(RecordScripts.SEPARATOR);
		return (end < 0) ? new Failure(text, null) : new Failure(text.substring(0, end), text.substring(end + 1));
	}

	static @Nullable ScannedRecord scanned(byte[] reply) {
		if (reply.length == 0) {
			return null;
		}
		Reader reader = new Reader(reply);
		Instant now = reader.instant();
		String scope = reader.text((int) reader.number());
		String key = reader.text((int) reader.number());
		State state = switch (reader.letter()) {
			case 'P' -> State.IN_PROGRESS;
			case 'C' -> State.COMPLETED;
			default -> State.FAILED;
		};
		int fence = (int) reader.number();
		int attempt = (int) reader.number();
		Instant at = reader.instant();
		Instant createdAt = reader.instant();
		Instant expiresAt = reader.instant();
		Long version = reader.version();
		// The failure is the rest of the reply.
		IdempotencyRecord record = new IdempotencyRecord(IdempotencyKey.of(scope, key), state, fence, attempt,
				(state == State.IN_PROGRESS) ? at : null, createdAt, (state == State.COMPLETED) ? at : null, expiresAt,
				failure(reader), version);
		return new ScannedRecord(record, now);
	}

	record ScannedRecord(IdempotencyRecord record, Instant now) {

	}

	/**
	 * Reads a reply from left to right: letters, numbers that end with a space, and
	 * texts.
	 */
	private static final class Reader {

		private final byte[] reply;

		private int position;

		Reader(byte[] reply) {
			this.reply = reply;
		}

		char letter() {
			return (char) this.reply[this.position++];
		}

		long number() {
			return Long.parseLong(word());
		}

		// The smallest version is zero.
		@Nullable Long version() {
			String digits = word();
			return digits.equals("-") ? null : Long.parseUnsignedLong(digits) - Long.MIN_VALUE;
		}

		private String word() {
			int start = this.position;
			while (this.position < this.reply.length && this.reply[this.position] != ' ') {
				this.position++;
			}
			return new String(this.reply, start, this.position++ - start, StandardCharsets.US_ASCII);
		}

		Instant instant() {
			return Instant.ofEpochMilli(number());
		}

		String text(int length) {
			String text = new String(this.reply, this.position, length, StandardCharsets.UTF_8);
			this.position += length;
			return text;
		}

		byte[] rest() {
			return Arrays.copyOfRange(this.reply, this.position, this.reply.length);
		}

	}

}
