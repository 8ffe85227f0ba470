package dev.idempotency.redis;

import java.nio.charset.StandardCharsets;

import dev.idempotency.IdempotencyKey;

/**
 * What people see of a record and do to it, each a script on one key.
 *
 * @param keys the names of the keys
 */
record Interventions(KeyNames keys) {

	// KEYS[1] the record. The answer has no result, which may be large.
	private static final Script LOOK = Script.of("""
			if not state then return '' end
			local outcome = string.sub(value, rest, rest) == 'E' and string.sub(value, rest) or '-'
			local stuck = state == 'P' and tonumber(lease) <= now and 'S' or '-'
			return string.format('%s%.0f %s ', stuck, now, s) .. string.sub(value, body + f, body + f + s - 1)
			  .. k .. ' ' .. string.sub(value, body + f + s, rest - 1)
			  .. string.format('%s%s %s %s %s %.0f ', state, fence, attempt, lease, created,
			    now + redis.call('PTTL', KEYS[1])) .. outcome
			""");

	private static final String GUARD = """
			if not state then return 'ABSENT' end
			if state == 'P' and tonumber(lease) > now and ARGV[1] ~= '1' then return 'ALIVE' end
			""";

	// KEYS[1] the record; ARGV force. The token is nobody's.
	private static final Script RELEASE = Script.of(GUARD + """
			if state == 'C' then return 'COMPLETED' end
			token = '00000000-0000-0000-0000-000000000000'
			redis.call('SET', KEYS[1], head('F', 0) .. string.sub(value, body), 'KEEPTTL')
			return 'DONE'
			""");

	// KEYS[1] the record; ARGV force
	private static final Script EVICT = Script.of(GUARD + """
			redis.call('DEL', KEYS[1])
			return 'DONE'
			""");

	Invocation look(byte[] name) {
		return new Invocation(LOOK, name);
	}

	Invocation release(IdempotencyKey key, boolean force) {
		return new Invocation(RELEASE, this.keys.bytes(key), force(force));
	}

	Invocation evict(IdempotencyKey key, boolean force) {
		return new Invocation(EVICT, this.keys.bytes(key), force(force));
	}

	private static byte[] force(boolean force) {
		return (force ? "1" : "0").getBytes(StandardCharsets.US_ASCII);
	}

}
