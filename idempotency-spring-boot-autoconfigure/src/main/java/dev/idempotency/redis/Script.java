package dev.idempotency.redis;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * A Lua script on one key. All of them begin alike: they read the clock and the record,
 * and refuse a value that is not a record of ours.
 * <p>
 * A record is
 * {@code idem1 <state> <token> <fence> <attempt> <lease end> <created> <lengths> } and
 * then fingerprint, scope and key, whose lengths these are, and the {@link Outcome}.
 * States are P in progress, C completed, F failed; times are milliseconds. The number in
 * the first word is that of the format.
 * <p>
 * In the place of the lease end a completed record has a zero and the time of the
 * completion. Older versions leave the lease end there, and ignore this number.
 *
 * @param text the script
 * @param digest the name under which the server remembers it
 */
record Script(String text, String digest) {

	/**
	 * Begins the error of a script that found something else under its key.
	 */
	static final String UNREADABLE = "UNREADABLE";

	// The clock, and a function that writes the beginning of a record.
	private static final String CLOCK = """
			local time = redis.call('TIME')
			local now = time[1] * 1000 + math.floor(time[2] / 1000)
			local function head(state, at)
			  return string.format('idem1 %s %s %.0f %.0f %s%.0f %.0f %d %d %d ', state, token, fence, attempt,
			    state == 'C' and '0' or '', at, created, f, s, k)
			end
			""";

	// The record in parts; state is nil when there is none. 'body' is where the
	// fingerprint begins, 'rest' where the outcome does.
	private static final String PROLOGUE = """
			local value = redis.call('GET', KEYS[1])
			local state, token, fence, attempt, lease, created, f, s, k, body, rest
			if value then
			  state, token, fence, attempt, lease, created, f, s, k, body = string.match(value,
			    '^idem1 ([PCF]) ([%x-]+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) ()')
			  rest = state and body + f + s + k
			  if not rest or #value < rest or not string.find(value, '^[-RE]', rest) then
			    return redis.error_reply('UNREADABLE value')
			  end
			end
			""";

	static Script of(String body) {
		String text = PROLOGUE + CLOCK + body;
		try {
			byte[] digest = MessageDigest.getInstance("SHA-1").digest(text.getBytes(StandardCharsets.UTF_8));
			return new Script(text, HexFormat.of().formatHex(digest));
		}
		catch (NoSuchAlgorithmException ex) {
			throw new IllegalStateException("Every Java platform has SHA-1", ex);
		}
	}

}
