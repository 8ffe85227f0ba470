/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.redis;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.redis.ScriptCall.Script;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.Failure;

/**
 * The Lua scripts of the store. Each works on the record of one key. {@link Replies}
 * reads what they return.
 * <p>
 * A record is the text
 * {@code idem1 <state> <token> <fence> <attempt> <time> <created> <lengths> <version> <completed version> <length> },
 * followed by fingerprint, scope and key, which have these lengths, and by the outcome.
 * The number in the first word is the version of the format. The states are P (in
 * progress), C (completed) and F (failed). Times are in milliseconds: the end of the
 * lease, or the time of the completion.
 * <p>
 * The outcome is {@code -} for none, {@code R} and the result, or {@code E} and the
 * failure. The versions are that of the last claim and the one that completed last, each
 * {@code -} if there is none. Between key and outcome stands the outcome of the version
 * that completed last, of the last length, while a later claim is not completed. Versions
 * have 20 digits, so that texts compare as their numbers do; a number of Lua has 53 bits.
 *
 * @param prefix common prefix of the names of the Redis keys
 */
record RecordScripts(String prefix) {

	// A brace would make the prefix the hash tag, and put all keys on one cluster node.
	private static final Pattern PREFIX = Pattern.compile("[!-z|~]{1,200}");

	static final byte RESULT = 'R';

	static final byte FAILURE = 'E';

	// Separates type and message of a failure, which do not contain it.
	static final char SEPARATOR = 0;

	// No outcome, or no version.
	private static final byte[] NONE = { '-' };

	private static final int VERSION_DIGITS = 20;

	// Every script begins with it: parses the record. 'state' is nil if there is none,
	// 'body' the position of the fingerprint, 'rest' that of the outcome, 'kept' what
	// stands before it. 'now' is the clock of the server, and 'head' writes the first
	// part of a record.
	private static final String PROLOGUE = """
			local value = redis.call('GET', KEYS[1])
			local state, token, fence, attempt, lease, created, f, s, k, o, body, rest
			local version, decided, kept = '-', '-', ''
			if value then
			  state, token, fence, attempt, lease, created, f, s, k, version, decided, o, body = string.match(value,
			    '^idem1 ([PCF]) ([%x-]+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) ([%d-]+) ([%d-]+) (%d+) ()')
			  rest = state and body + f + s + k + o
			  if not rest or #value < rest or not string.find(value, '^[-RE]', rest) then
			    return redis.error_reply('UNREADABLE value')
			  end
			  kept = string.sub(value, rest - o, rest - 1)
			end
			local time = redis.call('TIME')
			local now = time[1] * 1000 + math.floor(time[2] / 1000)
			local function head(state, at)
			  return string.format('idem1 %s %s %.0f %.0f %.0f %.0f %d %d %d %s %s %d ', state, token, fence, attempt, at,
			    created, f, s, k, version, decided, #kept)
			end
			""";

	// Answers if the key is not free; the arguments are those of CLAIM. The fingerprint
	// of a later claim is not that of the version that has completed.
	private static final String TAKEN = """
			if state then
			  local own = state == 'P' and token == ARGV[1]
			  local versioned = ARGV[7] ~= '-'
			  local higher = versioned and (decided == '-' or decided < ARGV[7])
			  if versioned and not higher and not own then
			    if decided > ARGV[7] then return 'T' .. decided end
			    if state ~= 'C' then return 'C' .. (kept == '' and '-' or kept) end
			  end
			  if (state == 'C' and not higher) or (state == 'P' and not own and tonumber(lease) > now) then
			    local known, format = string.sub(value, body, body + f - 1), ''
			    if #known > 0 and #ARGV[4] > 0 and known ~= ARGV[4] and (state == 'C' or not versioned) then
			      if string.byte(known) == string.byte(ARGV[4]) or (string.byte(known) == 127 and string.byte(ARGV[4]) >= 64) then
			        return 'M'
			      end
			      format = 'V'
			    end
			    if state == 'C' then return format .. 'C' .. string.sub(value, rest) end
			    return format .. string.format('P%.0f', lease - now)
			  end
			  if state == 'C' then attempt = 0 end
			""";

	// KEYS[1] the record; ARGV as for CLAIM
	private static final Script LOOK_UP = script(TAKEN + """
			  if own then return string.format('A%.0f %.0f', fence, attempt) end
			  return string.format('A%.0f %.0f', fence + 1, attempt + 1)
			end
			return 'A1 1'
			""");

	// KEYS[1] the record; ARGV token, lease, time to live, fingerprint, scope, key,
	// version
	private static final Script CLAIM = script(
			TAKEN + """
					  if not own then fence, attempt = fence + 1, attempt + 1 end
					  if state == 'C' then
					    kept = decided ~= '-' and string.sub(value, rest) or ''
					  end
					else
					  fence, attempt, created = 1, 1, now
					end
					token, f, s, k, version = ARGV[1], #ARGV[4], #ARGV[5], #ARGV[6], ARGV[7]
					redis.call('SET', KEYS[1], head('P', now + ARGV[2]) .. ARGV[4] .. ARGV[5] .. ARGV[6] .. kept .. '-', 'PX', ARGV[3])
					return string.format('A%.0f %.0f', fence, attempt)
					""");

	// KEYS[1] the record; ARGV token, outcome. A repeated completion writes the record
	// again, so that WAIT has a write to wait for.
	private static final Script COMPLETE = script("""
			if not state then return 'N' end
			if token ~= ARGV[1] or state == 'F' then return 'L' end
			if state == 'P' then
			  if version ~= '-' then decided = version end
			  kept = ''
			  value = head('C', now) .. string.sub(value, body, body + f + s + k - 1) .. ARGV[2]
			end
			redis.call('SET', KEYS[1], value, 'KEEPTTL')
			return 'S'
			""");

	// KEYS[1] the record; ARGV token, outcome, number of attempts to subtract
	private static final Script FAIL = script("""
			if not state then return 'N' end
			if token ~= ARGV[1] or state == 'C' then return 'L' end
			if state == 'P' then
			  attempt = attempt - ARGV[3]
			  redis.call('SET', KEYS[1], head('F', 0) .. string.sub(value, body, rest - 1) .. ARGV[2], 'KEEPTTL')
			end
			return 'S'
			""");

	// Renews the claim of the caller; ARGV token, lease
	private static final String RENEWED = """
			if token ~= ARGV[1] or state ~= 'P' then return 'L' end
			value = head('P', now + ARGV[2]) .. string.sub(value, body)
			local left = redis.call('PTTL', KEYS[1])
			if left >= 0 and left < tonumber(ARGV[2]) then
			  redis.call('SET', KEYS[1], value, 'PX', ARGV[2])
			else
			  redis.call('SET', KEYS[1], value, 'KEEPTTL')
			end
			return 'S'
			""";

	// KEYS[1] the record; ARGV as for RENEWED
	private static final Script RENEW = script("if not state then return 'N' end\n" + RENEWED);

	// KEYS[1] the record; ARGV token, lease, time to live, fingerprint, scope, key,
	// version, fence and attempt of the claim
	private static final Script RESTORE = script("if state then\n" + RENEWED + """
			end
			token, fence, attempt, created, f, s, k = ARGV[1], ARGV[8], ARGV[9], now, #ARGV[4], #ARGV[5], #ARGV[6]
			version = ARGV[7]
			redis.call('SET', KEYS[1], head('P', now + ARGV[2]) .. ARGV[4] .. ARGV[5] .. ARGV[6] .. '-', 'PX', ARGV[3])
			return 'S'
			""");

	// KEYS[1] the record
	private static final Script RESULT_OF = script("""
			if not state then return '' end
			return string.sub(value, rest)
			""");

	// KEYS[1] the record. The reply leaves out a result, which may be large.
	private static final Script FIND = script("""
			if not state then return '' end
			local outcome = string.sub(value, rest, rest) == 'E' and string.sub(value, rest) or '-'
			return string.format('%.0f %s ', now, s) .. string.sub(value, body + f, body + f + s - 1)
			  .. k .. ' ' .. string.sub(value, body + f + s, body + f + s + k - 1)
			  .. string.format('%s%s %s %s %s %.0f %s ', state, fence, attempt, lease, created,
			    now + redis.call('PTTL', KEYS[1]), decided) .. outcome
			""");

	private static final String GUARD = """
			if not state then return 'ABSENT' end
			if state == 'P' and tonumber(lease) > now and ARGV[1] ~= '1' then return 'ALIVE' end
			""";

	// KEYS[1] the record; ARGV force. No owner has the new token.
	private static final Script RELEASE = script(GUARD + """
			if state == 'C' then return 'COMPLETED' end
			token = '00000000-0000-0000-0000-000000000000'
			redis.call('SET', KEYS[1], head('F', 0) .. string.sub(value, body), 'KEEPTTL')
			return 'DONE'
			""");

	// KEYS[1] the record; ARGV force
	private static final Script EVICT = script(GUARD + """
			redis.call('DEL', KEYS[1])
			return 'DONE'
			""");

	RecordScripts {
		IdempotencyConfigurationException.check(PREFIX.matcher(prefix).matches(),
				"'idempotency.redis.key-prefix' is '" + prefix + "'.",
				"Set 'idempotency.redis.key-prefix' to 1 to 200 printable ASCII characters without spaces and "
						+ "braces.");
	}

	private static Script script(String body) {
		return Script.of(PROLOGUE + body);
	}

	String name(IdempotencyKey key) {
		return this.prefix + '{' + key.id().toString().replace("-", "") + '}';
	}

	ScriptCall claim(ClaimRequest request) {
		return claim(CLAIM, request);
	}

	ScriptCall lookUp(ClaimRequest request) {
		return claim(LOOK_UP, request);
	}

	private ScriptCall claim(Script script, ClaimRequest request) {
		IdempotencyKey key = request.key();
		return call(script, key, token(request), lease(request), timeToLive(request), fingerprint(request),
				utf8(key.scope()), utf8(key.value()), version(request));
	}

	ScriptCall settle(Ending ending) {
		ClaimRequest claim = ending.claim();
		if (ending instanceof Ending.Completed completed) {
			return call(COMPLETE, claim.key(), token(claim), outcome(completed.result()));
		}
		return (ending instanceof Ending.Failed failed)
				? call(FAIL, claim.key(), token(claim), outcome(failed.failure()), number(0))
				: call(FAIL, claim.key(), token(claim), NONE, number(1));
	}

	ScriptCall renew(ClaimRequest claim) {
		return call(RENEW, claim.key(), token(claim), lease(claim));
	}

	ScriptCall restore(ClaimRequest claim, Claim.Acquired acquired) {
		IdempotencyKey key = claim.key();
		return call(RESTORE, key, token(claim), lease(claim), timeToLive(claim), fingerprint(claim), utf8(key.scope()),
				utf8(key.value()), version(claim), number(acquired.fence()), number(acquired.attempt()));
	}

	ScriptCall find(IdempotencyKey key) {
		return call(FIND, key);
	}

	ScriptCall find(byte[] name) {
		return new ScriptCall(FIND, name);
	}

	ScriptCall result(IdempotencyKey key) {
		return call(RESULT_OF, key);
	}

	ScriptCall release(IdempotencyKey key, boolean force) {
		return call(RELEASE, key, number(force ? 1 : 0));
	}

	ScriptCall evict(IdempotencyKey key, boolean force) {
		return call(EVICT, key, number(force ? 1 : 0));
	}

	private ScriptCall call(Script script, IdempotencyKey key, byte[]... arguments) {
		return new ScriptCall(script, name(key).getBytes(StandardCharsets.US_ASCII), arguments);
	}

	private static byte[] token(ClaimRequest claim) {
		return utf8(claim.token().toString());
	}

	private static byte[] lease(ClaimRequest claim) {
		return number(claim.lease().toMillis());
	}

	private static byte[] timeToLive(ClaimRequest claim) {
		return number(Math.max(claim.retention().toMillis(), claim.lease().toMillis()));
	}

	private static byte[] fingerprint(ClaimRequest claim) {
		byte[] fingerprint = claim.fingerprint();
		return (fingerprint != null) ? fingerprint : new byte[0];
	}

	private static byte[] version(ClaimRequest claim) {
		return (claim.version() != null) ? utf8(version(claim.version())) : NONE;
	}

	// The smallest version becomes zero.
	static String version(long version) {
		String digits = Long.toUnsignedString(version + Long.MIN_VALUE);
		return "0".repeat(VERSION_DIGITS - digits.length()) + digits;
	}

	private static byte[] outcome(byte @Nullable [] result) {
		return (result != null) ? outcome(RESULT, result) : NONE;
	}

	private static byte[] outcome(Failure failure) {
		String text = (failure.message() != null) ? failure.type() + SEPARATOR + failure.message() : failure.type();
		return outcome(FAILURE, utf8(text));
	}

	private static byte[] outcome(byte kind, byte[] content) {
		return ByteBuffer.allocate(content.length + 1).put(kind).put(content).array();
	}

	private static byte[] number(long number) {
		return utf8(Long.toString(number));
	}

	private static byte[] utf8(String text) {
		return text.getBytes(StandardCharsets.UTF_8);
	}

}
