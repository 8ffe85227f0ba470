/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

import org.jspecify.annotations.Nullable;

import dev.idempotency.ExceptionCauses;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.store.Failure;
import dev.idempotency.template.IdempotentOperation.Handler;

/**
 * The outcome of an operation that its handler has declined for good. Inside of the
 * template it takes the place of a result: every path of a completion stores and replays
 * it, and no store knows it.
 * <p>
 * Its bytes begin with an {@link OutcomeMark}.
 *
 * @param reason the reason
 * @param body the body as duplicates read it, {@code null} if there is none
 * @param bytes the bytes of the body
 * @param cause the cause in this process
 */
record Declined(String reason, @Nullable Object body, byte @Nullable [] bytes, @Nullable Throwable cause) {

	private static final String NOT_STORED = "The reason of the decline was not stored";

	@SuppressWarnings("unchecked")
	static Declined of(OperationDeclinedException exception, ResultCodec<?> codec) {
		Object body = exception.body();
		String reason = Failure.cut(exception.reason());
		if (body == null) {
			return new Declined(reason, null, null, exception.getCause());
		}
		byte[] bytes;
		Object read;
		try {
			bytes = ((ResultCodec<Object>) codec).write(body);
			read = (bytes != null) ? codec.read(bytes) : null;
		}
		catch (Throwable ex) {
			throw new IllegalStateException(unusable(body, "cannot be stored and read as the result"), ex);
		}
		if (bytes == null) {
			throw new IllegalStateException(unusable(body, "cannot be stored, because there is no result"));
		}
		return new Declined(reason, read, bytes, exception.getCause());
	}

	private static String unusable(Object body, String problem) {
		return "An operation was declined with a body of " + body.getClass() + ", which " + problem
				+ " that the handler declares. Decline it with a body of that type, or without a body";
	}

	// Return an asynchronous handler whose stage completes with a decline instead of
	// failing with it.
	static <T, E extends Throwable> Handler<CompletionStage<Object>, E> returningAsync(
			Handler<CompletionStage<T>, E> handler, ResultCodec<T> codec) {
		return () -> {
			CompletionStage<T> stage;
			try {
				stage = handler.handle();
			}
			catch (OperationDeclinedException ex) {
				return CompletableFuture.completedFuture(of(ex, codec));
			}
			return Futures.convert((stage != null) ? stage : CompletableFuture.<T>completedFuture(null),
					(result, error) -> {
						OperationDeclinedException declined = (ExceptionCauses
							.ofHandler(error) instanceof OperationDeclinedException found) ? found : null;
						if (declined == null && error != null) {
							throw error;
						}
						return (declined != null) ? of(declined, codec) : result;
					});
		};
	}

	@SuppressWarnings("unchecked")
	static <T> IdempotentResult<T> resultOf(IdempotentResult<Object> outcome) {
		if (outcome.result() instanceof Declined declined) {
			throw declined.toException(outcome.duplicate());
		}
		return (IdempotentResult<T>) outcome;
	}

	OperationDeclinedException toException(boolean duplicate) {
		return duplicate ? OperationDeclinedException.duplicate(this.reason, this.body)
				: new OperationDeclinedException(this.reason, this.body, this.cause);
	}

	static @Nullable String reason(byte[] stored) {
		return OutcomeMark.DECLINED.isOn(stored) ? parse(stored).reason() : null;
	}

	static byte @Nullable [] content(byte[] stored) {
		if (OutcomeMark.DECLINED.isOn(stored)) {
			return parse(stored).bytes();
		}
		if (OutcomeMark.NOT_STORED.isOn(stored)) {
			return null;
		}
		return OutcomeMark.RESULT.isOn(stored) ? OutcomeMark.RESULT.remove(stored) : stored;
	}

	// Return the bytes of a decline whose reason and body must not be stored.
	static byte[] withoutContent() {
		return new Declined(NOT_STORED, null, null, null).write();
	}

	// The body is left in its bytes.
	private static Declined parse(byte[] stored) {
		ByteBuffer buffer = ByteBuffer.wrap(stored).position(OutcomeMark.LENGTH);
		boolean hasBody = buffer.get() == 1;
		byte[] text = new byte[buffer.getInt()];
		buffer.get(text);
		byte[] body = hasBody ? Arrays.copyOfRange(stored, buffer.position(), stored.length) : null;
		return new Declined(new String(text, StandardCharsets.UTF_8), null, body, null);
	}

	private byte[] write() {
		byte[] text = this.reason.getBytes(StandardCharsets.UTF_8);
		int size = (this.bytes != null) ? this.bytes.length : 0;
		ByteBuffer buffer = OutcomeMark.DECLINED.begin(1 + Integer.BYTES + text.length + size)
			.put((byte) ((this.bytes != null) ? 1 : 0))
			.putInt(text.length)
			.put(text);
		if (this.bytes != null) {
			buffer.put(this.bytes);
		}
		return buffer.array();
	}

	@Override
	public String toString() {
		return "Declined";
	}

	@SuppressWarnings("unchecked")
	static byte @Nullable [] write(@Nullable Object outcome, ResultCodec<?> codec) {
		if (outcome instanceof Declined declined) {
			return declined.write();
		}
		byte[] bytes = ((ResultCodec<Object>) codec).write(outcome);
		return (bytes != null && OutcomeMark.isAmbiguous(bytes)) ? OutcomeMark.RESULT.on(bytes) : bytes;
	}

	static @Nullable Object read(byte[] stored, ResultCodec<?> codec) {
		if (OutcomeMark.DECLINED.isOn(stored)) {
			Declined declined = parse(stored);
			byte[] body = declined.bytes();
			return new Declined(declined.reason(), (body != null) ? codec.read(body) : null, body, null);
		}
		return codec.read(Objects.requireNonNull(content(stored)));
	}

}
