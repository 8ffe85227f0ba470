package dev.idempotency.redis;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;

import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;

/**
 * A script that has been sent, and is sent in full when the server does not know it: a
 * server forgets its scripts with a restart, and a promoted replica never had them.
 */
final class ScriptCall {

	private final RedisClusterAsyncCommands<byte[], byte[]> commands;

	private final Invocation invocation;

	private final CompletableFuture<byte[]> answer;

	private volatile RedisFuture<byte[]> sent;

	private volatile boolean cancelled;

	ScriptCall(RedisClusterAsyncCommands<byte[], byte[]> commands, Invocation invocation) {
		this.commands = commands;
		this.invocation = invocation;
		this.sent = commands.evalsha(invocation.script().digest(), ScriptOutputType.VALUE, keys(),
				invocation.arguments());
		this.answer = this.sent.exceptionallyCompose(this::repeat).toCompletableFuture();
	}

	private CompletionStage<byte[]> repeat(Throwable error) {
		if (!(error instanceof RedisNoScriptException) || this.cancelled) {
			return CompletableFuture.failedFuture(error);
		}
		this.sent = this.commands.eval(this.invocation.script().text(), ScriptOutputType.VALUE, keys(),
				this.invocation.arguments());
		if (this.cancelled) {
			this.sent.cancel(false);
		}
		return this.sent;
	}

	private byte[][] keys() {
		return new byte[][] { this.invocation.key() };
	}

	static byte[] run(RedisClusterAsyncCommands<byte[], byte[]> commands, Invocation invocation, Deadline deadline)
			throws ExecutionException, TimeoutException {
		ScriptCall call = new ScriptCall(commands, invocation);
		try {
			return call.await(deadline);
		}
		finally {
			call.cancel();
		}
	}

	// One that fails does not keep the others from being done.
	static List<byte[]> awaitAll(List<ScriptCall> calls, Deadline deadline)
			throws ExecutionException, TimeoutException {
		try {
			deadline.await(
					CompletableFuture.allOf(calls.stream().map((call) -> call.answer).toArray(CompletableFuture[]::new))
						.exceptionally((error) -> null));
			List<byte[]> answers = new ArrayList<>(calls.size());
			for (ScriptCall call : calls) {
				answers.add(call.await(deadline));
			}
			return answers;
		}
		finally {
			calls.forEach(ScriptCall::cancel);
		}
	}

	byte[] await(Deadline deadline) throws ExecutionException, TimeoutException {
		try {
			return deadline.await(this.answer);
		}
		catch (ExecutionException ex) {
			if (Errors.isUnreadable(ex.getCause())) {
				throw Errors.unreadable(new String(this.invocation.key(), StandardCharsets.US_ASCII), ex.getCause());
			}
			throw ex;
		}
	}

	// What waits for a connection is never sent then.
	void cancel() {
		this.cancelled = true;
		this.sent.cancel(false);
	}

}
