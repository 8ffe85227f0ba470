package dev.idempotency.redis;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisCommandTimeoutException;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyRecordUnreadableException;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationBlockedException;

/**
 * Turns what Redis and its client report into what the protocol knows.
 */
final class Errors {

	// What every command, or every write, meets until the server has recovered, or until
	// the client has found another one or is let in.
	private static final Set<String> OUTAGE = Set.of("OOM", "READONLY", "MISCONF", "NOREPLICAS", "LOADING",
			"MASTERDOWN", "BUSY", "CLUSTERDOWN", "MOVED", "ASK", "TRYAGAIN", "NOAUTH", "WRONGPASS", "NOPROTO");

	private static final Pattern CODE = Pattern
		.compile("\\b(" + String.join("|", OUTAGE) + "|NOPERM|NOSCRIPT|WRONGTYPE)\\b");

	private Errors() {
	}

	static OperationBlockedException blocked(Exception error, Duration timeout) {
		Throwable cause = (error instanceof ExecutionException && error.getCause() != null) ? error.getCause() : error;
		if (cause instanceof TimeoutException || cause instanceof RedisCommandTimeoutException) {
			return new IdempotencyStoreUnavailableException("Redis did not answer within " + timeout, cause);
		}
		if (cause instanceof RedisCommandExecutionException) {
			String code = code(cause);
			String refused = "Redis refused the command (" + code + ")";
			return OUTAGE.contains(code) ? new IdempotencyStoreUnavailableException(refused, code, cause)
					: new IdempotencyStoreRefusedException(refused, code, cause);
		}
		return new IdempotencyStoreUnavailableException("Redis cannot be reached", cause);
	}

	// The rest of the message may quote something; from within a script the word is not
	// the first.
	private static String code(Throwable refusal) {
		Matcher code = CODE.matcher(String.valueOf(refusal.getMessage()));
		return code.find() ? code.group() : "ERR";
	}

	static boolean isUnreadable(@Nullable Throwable error) {
		return error instanceof RedisCommandExecutionException && error.getMessage() != null
				&& (error.getMessage().contains("WRONGTYPE") || error.getMessage().contains(Script.UNREADABLE));
	}

	static IdempotencyRecordUnreadableException unreadable(String key, @Nullable Throwable cause) {
		return new IdempotencyRecordUnreadableException("What Redis keeps under the key '" + key
				+ "' is not an idempotency record of this version; look at it, and delete it if nobody needs it",
				cause);
	}

}
