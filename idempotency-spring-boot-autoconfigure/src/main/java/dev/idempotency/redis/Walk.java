package dev.idempotency.redis;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.function.Predicate;

import io.lettuce.core.KeyScanCursor;
import io.lettuce.core.ScanArgs;
import io.lettuce.core.ScanCursor;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyRecordUnreadableException;
import dev.idempotency.store.IdempotencyRecords;

/**
 * Goes through the keys of a server, or of all masters of a cluster, until it has been
 * everywhere, has seen as many records as a call may look at, or has used up its time.
 */
final class Walk {

	private static final Log logger = LogFactory.getLog(Walk.class);

	private static final int STEP = 500;

	private final RedisClusterAsyncCommands<byte[], byte[]> commands;

	private final RecordScripts scripts;

	private final Deadline deadline;

	// So that the last step, too, ends within the time-out.
	private final long end;

	private final Set<ByteBuffer> met = new HashSet<>();

	Walk(RedisClusterAsyncCommands<byte[], byte[]> commands, RecordScripts scripts, Deadline deadline,
			Duration timeout) {
		this.commands = commands;
		this.scripts = scripts;
		this.deadline = deadline;
		this.end = System.nanoTime() + timeout.toNanos() / 2;
	}

	/**
	 * Go.
	 * @param visitor gets each record, and says whether to go on
	 * @return whether it has been everywhere
	 */
	boolean go(Predicate<Seen> visitor) throws ExecutionException, TimeoutException {
		// A brace ends what KeyNames allows in a prefix.
		ScanArgs arguments = ScanArgs.Builder.limit(STEP)
			.match(escape(this.scripts.keys().prefix()) + "{*", StandardCharsets.US_ASCII);
		ScanCursor cursor = ScanCursor.INITIAL;
		while (!cursor.isFinished()) {
			if (System.nanoTime() > this.end || this.met.size() >= IdempotencyRecords.WINDOW) {
				return false;
			}
			KeyScanCursor<byte[]> step = this.deadline.await(this.commands.scan(cursor, arguments));
			// The same key may come several times.
			List<byte[]> names = step.getKeys().stream().filter((name) -> this.met.add(ByteBuffer.wrap(name))).toList();
			if (!visit(names, visitor)) {
				return false;
			}
			cursor = step;
		}
		return true;
	}

	private boolean visit(List<byte[]> names, Predicate<Seen> visitor) throws ExecutionException, TimeoutException {
		List<ScriptCall.Sent> calls = names.stream()
			.map((name) -> this.scripts.look(name).send(this.commands))
			.toList();
		try {
			for (ScriptCall.Sent call : calls) {
				Seen seen = seen(call);
				if (seen != null && !visitor.test(seen)) {
					return false;
				}
			}
			return true;
		}
		finally {
			calls.forEach(ScriptCall.Sent::cancel);
		}
	}

	private @Nullable Seen seen(ScriptCall.Sent call) throws ExecutionException, TimeoutException {
		try {
			return Replies.seen(call.await(this.deadline));
		}
		catch (IdempotencyRecordUnreadableException ex) {
			logger.debug("Left out", ex);
			return null;
		}
	}

	private static String escape(String prefix) {
		return prefix.replaceAll("([\\\\*?\\[\\]^-])", "\\\\$1");
	}

}
