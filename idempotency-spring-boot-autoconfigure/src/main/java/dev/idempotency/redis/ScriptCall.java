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

	private final Script script;

	private final byte[][] key;

	private final byte[][] arguments;

	private final CompletableFuture<List<Object>> answer;

	private volatile RedisFuture<List<Object>> sent;

	private volatile boolean cancelled;

	ScriptCall(RedisClusterAsyncCommands<byte[], byte[]> commands, Script script, byte[] key, byte[]... arguments) {
		this.commands = commands;
		this.script = script;
		this.key = new byte[][] { key };
		this.arguments = arguments;
		this.sent = commands.evalsha(script.digest(), ScriptOutputType.MULTI, this.key, arguments);
		this.answer = this.sent.exceptionallyCompose(this::repeat).toCompletableFuture();
	}

	private CompletionStage<List<Object>> repeat(Throwable error) {
		if (!(error instanceof RedisNoScriptException) || this.cancelled) {
			return CompletableFuture.failedFuture(error);
		}
		this.sent = this.commands.eval(this.script.text(), ScriptOutputType.MULTI, this.key, this.arguments);
		if (this.cancelled) {
			this.sent.cancel(false);
		}
		return this.sent;
	}

	static List<Object> run(RedisClusterAsyncCommands<byte[], byte[]> commands, Script script, Deadline deadline,
			byte[] key, byte[]... arguments) throws ExecutionException, TimeoutException {
		ScriptCall call = new ScriptCall(commands, script, key, arguments);
		try {
			return call.await(deadline);
		}
		finally {
			call.cancel();
		}
	}

	// One that fails does not keep the others from being done.
	static List<List<Object>> awaitAll(List<ScriptCall> calls, Deadline deadline)
			throws ExecutionException, TimeoutException {
		try {
			deadline.await(
					CompletableFuture.allOf(calls.stream().map((call) -> call.answer).toArray(CompletableFuture[]::new))
						.exceptionally((error) -> null));
			List<List<Object>> answers = new ArrayList<>(calls.size());
			for (ScriptCall call : calls) {
				answers.add(call.await(deadline));
			}
			return answers;
		}
		finally {
			calls.forEach(ScriptCall::cancel);
		}
	}

	private List<Object> await(Deadline deadline) throws ExecutionException, TimeoutException {
		try {
			return deadline.await(this.answer);
		}
		catch (ExecutionException ex) {
			if (Errors.isUnreadable(ex.getCause())) {
				throw Errors.unreadable(new String(this.key[0], StandardCharsets.US_ASCII), ex.getCause());
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
