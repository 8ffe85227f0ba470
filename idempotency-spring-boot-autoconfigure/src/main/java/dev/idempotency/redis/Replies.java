package dev.idempotency.redis;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

import org.jspecify.annotations.Nullable;

import dev.idempotency.Claim;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyRecord;
import dev.idempotency.IdempotencyRecord.State;
import dev.idempotency.Settlement;

/**
 * Reads what the scripts answer.
 */
final class Replies {

	private Replies() {
	}

	static Claim claim(List<Object> reply) {
		return switch (text(reply, 0)) {
			case "acquired" -> new Claim.Acquired((int) number(reply, 1), (int) number(reply, 2));
			case "completed" -> new Claim.Completed(Outcome.result((byte[]) reply.get(1)));
			case "mismatch" -> new Claim.Mismatch();
			default -> new Claim.InProgress(Duration.ofMillis(number(reply, 1)));
		};
	}

	static boolean isSettled(List<Object> reply) {
		return text(reply, 0).equals("settled");
	}

	static Settlement settlement(List<Object> reply) {
		return isSettled(reply) ? Settlement.SETTLED : Settlement.LOST;
	}

	static @Nullable IdempotencyRecord record(IdempotencyKey key, List<Object> reply) {
		if (reply.isEmpty()) {
			return null;
		}
		State state = switch (text(reply, 0)) {
			case "P" -> State.IN_PROGRESS;
			case "C" -> State.COMPLETED;
			default -> State.FAILED;
		};
		Instant claimedUntil = (state == State.IN_PROGRESS) ? Instant.ofEpochMilli(number(reply, 3)) : null;
		return new IdempotencyRecord(key, state, (int) number(reply, 1), (int) number(reply, 2), claimedUntil,
				Instant.ofEpochMilli(number(reply, 4)), Instant.ofEpochMilli(number(reply, 5)),
				Outcome.failure((byte[]) reply.get(6)));
	}

	private static String text(List<Object> reply, int index) {
		return new String((byte[]) reply.get(index), StandardCharsets.US_ASCII);
	}

	private static long number(List<Object> reply, int index) {
		return (Long) reply.get(index);
	}

}
