/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.redis;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;

import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.cluster.api.async.RedisAdvancedClusterAsyncCommands;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.ValueOutput;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import org.springframework.data.redis.core.script.DigestUtils;

import dev.idempotency.store.Deadline;

/**
 * A call of a Lua script on one key. The script is sent by its digest, and in full if the
 * server does not know it: a server forgets its scripts with a restart, and a promoted
 * replica does not have them.
 *
 * @param script the script
 * @param key the key
 * @param arguments the arguments
 */
record ScriptCall(Script script, byte[] key, byte[]... arguments) {

	Sent send(RedisClusterAsyncCommands<byte[], byte[]> commands) {
		return new Sent(commands, this,
				commands.evalsha(this.script.digest(), ScriptOutputType.VALUE, keys(), this.arguments));
	}

	// With one write to the network for each node.
	static List<Sent> sendAll(List<ScriptCall> calls, RedisClusterAsyncCommands<byte[], byte[]> commands) {
		if (calls.size() <= 1) {
			return calls.stream().map((call) -> call.send(commands)).toList();
		}
		List<AsyncCommand<byte[], byte[], byte[]>> together = calls.stream().map(ScriptCall::command).toList();
		StatefulConnection<byte[], byte[]> connection = (commands instanceof RedisAsyncCommands<byte[], byte[]> server)
				? server.getStatefulConnection()
				: ((RedisAdvancedClusterAsyncCommands<byte[], byte[]>) commands).getStatefulConnection();
		connection.dispatch(together);
		return IntStream.range(0, calls.size())
			.mapToObj((i) -> new Sent(commands, calls.get(i), together.get(i)))
			.toList();
	}

	private AsyncCommand<byte[], byte[], byte[]> command() {
		CommandArgs<byte[], byte[]> full = new CommandArgs<>(ByteArrayCodec.INSTANCE).add(this.script.digest())
			.add(1)
			.addKey(this.key)
			.addValues(this.arguments);
		return new AsyncCommand<>(new Command<>(CommandType.EVALSHA, new ValueOutput<>(ByteArrayCodec.INSTANCE), full));
	}

	private byte[][] keys() {
		return new byte[][] { this.key };
	}

	// A call that fails does not prevent the others.
	static List<byte[]> awaitAll(List<Sent> calls, Deadline deadline) throws ExecutionException, TimeoutException {
		try {
			deadline.await(
					CompletableFuture.allOf(calls.stream().map((call) -> call.reply).toArray(CompletableFuture[]::new))
						.exceptionally((error) -> null));
			List<byte[]> replies = new ArrayList<>(calls.size());
			for (Sent call : calls) {
				replies.add(call.await(deadline));
			}
			return replies;
		}
		finally {
			calls.forEach(Sent::cancel);
		}
	}

	record Script(String text, String digest) {

		static Script of(String text) {
			return new Script(text, DigestUtils.sha1DigestAsHex(text));
		}

	}

	static final class Sent {

		private final RedisClusterAsyncCommands<byte[], byte[]> commands;

		private final ScriptCall call;

		private final CompletableFuture<byte[]> reply;

		private volatile RedisFuture<byte[]> command;

		private volatile boolean cancelled;

		private Sent(RedisClusterAsyncCommands<byte[], byte[]> commands, ScriptCall call, RedisFuture<byte[]> command) {
			this.commands = commands;
			this.call = call;
			this.command = command;
			this.reply = this.command.exceptionallyCompose(this::sendInFull).toCompletableFuture();
		}

		private CompletionStage<byte[]> sendInFull(Throwable error) {
			if (!(error instanceof RedisNoScriptException) || this.cancelled) {
				return CompletableFuture.failedFuture(error);
			}
			this.command = this.commands.eval(this.call.script().text(), ScriptOutputType.VALUE, this.call.keys(),
					this.call.arguments());
			if (this.cancelled) {
				this.command.cancel(false);
			}
			return this.command;
		}

		byte[] await(Deadline deadline) throws ExecutionException, TimeoutException {
			try {
				return deadline.await(this.reply);
			}
			catch (ExecutionException ex) {
				if (RedisErrors.isUnreadable(ex.getCause())) {
					throw RedisErrors.unreadable(new String(this.call.key(), StandardCharsets.US_ASCII), ex.getCause());
				}
				throw ex;
			}
		}

		// A command that still waits for a connection is never sent then.
		void cancel() {
			this.cancelled = true;
			this.command.cancel(false);
		}

	}

}
