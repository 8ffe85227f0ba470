package dev.idempotency.redis;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeoutException;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import org.jspecify.annotations.Nullable;

/**
 * Tries the commands without which the store cannot work, itself or within its scripts,
 * in a way that changes nothing. Only the commands themselves show what the server allows
 * on every version: {@code ACL DRYRUN} needs a privilege of its own, and a command may
 * have been renamed.
 *
 * @param keys the names of the keys
 * @param replicated whether replicas confirm completions
 */
record RequiredCommands(KeyNames keys, boolean replicated) {

	// The code for a command that the server does not have.
	private static final String UNKNOWN = "ERR";

	private static final String UNKNOWN_SCRIPT = "0".repeat(40);

	/**
	 * The names of the commands that the server refuses.
	 * @param commands the connection
	 * @param deadline when to stop
	 * @return the names, empty if the server allows all of them
	 */
	List<String> refused(RedisClusterAsyncCommands<byte[], byte[]> commands, Deadline deadline)
			throws ExecutionException, TimeoutException {
		List<String> refused = new ArrayList<>();
		boolean replica = false;
		for (Map.Entry<String, Future<?>> sent : send(commands).entrySet()) {
			String error = error(sent.getValue(), deadline);
			replica |= "READONLY".equals(error);
			// What a replica cannot do is ERR, too. A fail-over ends that.
			if (isRefusal(error) && !(replica && UNKNOWN.equals(error))) {
				refused.add(sent.getKey());
			}
		}
		return refused;
	}

	private Map<String, Future<?>> send(RedisClusterAsyncCommands<byte[], byte[]> commands) {
		byte[] key = probe();
		byte[][] keys = { key };
		Map<String, Future<?>> sent = new LinkedHashMap<>();
		sent.put("EVALSHA", commands.evalsha(UNKNOWN_SCRIPT, ScriptOutputType.VALUE, keys));
		sent.put("EVAL", commands.eval("return ''", ScriptOutputType.VALUE, keys));
		sent.put("GET", commands.get(key));
		// Sets nothing, because the key does not exist.
		sent.put("SET", commands.set(key, new byte[0], SetArgs.Builder.xx().px(1)));
		sent.put("PTTL", commands.pttl(key));
		sent.put("TIME", commands.time());
		if (this.replicated) {
			// Returns at once, because no replica has to confirm anything.
			sent.put("WAIT", commands.waitForReplication(0, 1));
		}
		return sent;
	}

	// Not a name of a record: those have 32 hexadecimal digits.
	byte[] probe() {
		return (this.keys.prefix() + "{check}").getBytes(StandardCharsets.US_ASCII);
	}

	private static @Nullable String error(Future<?> answer, Deadline deadline)
			throws ExecutionException, TimeoutException {
		try {
			deadline.await(answer);
			return null;
		}
		catch (ExecutionException ex) {
			if (ex.getCause() instanceof RedisCommandExecutionException refusal) {
				return code(refusal);
			}
			throw ex;
		}
	}

	/**
	 * Whether an error means that the user may not send the command, or that the server
	 * does not have it. Others, as OOM and READONLY, pass by.
	 * @param code the code of the error, {@code null} if there is none
	 * @return whether the command is refused
	 */
	static boolean isRefusal(@Nullable String code) {
		return "NOPERM".equals(code) || "NOAUTH".equals(code) || UNKNOWN.equals(code);
	}

	/**
	 * The code of an error: the first word of what the server answers.
	 * @param refusal the error
	 * @return the code
	 */
	static @Nullable String code(RedisCommandExecutionException refusal) {
		String message = refusal.getMessage();
		return (message != null) ? message.split(" ", 2)[0] : null;
	}

	/**
	 * The rule that allows what the store needs, and to read the memory policy.
	 * @return the rule, in the words of {@code ACL SETUSER}
	 */
	String rule() {
		return "~" + this.keys.prefix() + "* +evalsha +eval +get +set +pttl +time +info"
				+ (this.replicated ? " +wait" : "");
	}

}
