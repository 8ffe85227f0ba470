package dev.idempotency.redis;

import java.nio.charset.StandardCharsets;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Completion;
import dev.idempotency.store.Failure;

/**
 * The transitions of a record, each a script on one key, and the look at it.
 *
 * @param keys the names of the keys
 */
record Transitions(KeyNames keys) {

	// KEYS[1] the record; ARGV token, lease, time to live, fingerprint, scope, key
	private static final Script CLAIM = Script.of("""
			if state then
			  local own = state == 'P' and token == ARGV[1]
			  if state == 'C' or (state == 'P' and not own and tonumber(lease) > now) then
			    local known, version = string.sub(value, body, body + f - 1), ''
			    if #known > 0 and #ARGV[4] > 0 and known ~= ARGV[4] then
			      if string.byte(known) == string.byte(ARGV[4]) then return 'M' end
			      version = 'V'
			    end
			    if state == 'C' then return version .. 'C' .. string.sub(value, rest) end
			    return version .. string.format('P%.0f', lease - now)
			  end
			  if not own then fence, attempt = fence + 1, attempt + 1 end
			else
			  fence, attempt, created = 1, 1, now
			end
			token, f, s, k = ARGV[1], #ARGV[4], #ARGV[5], #ARGV[6]
			redis.call('SET', KEYS[1], head('P', now + ARGV[2]) .. ARGV[4] .. ARGV[5] .. ARGV[6] .. '-', 'PX', ARGV[3])
			return string.format('A%.0f %.0f', fence, attempt)
			""");

	// KEYS[1] the record; ARGV token, outcome. A repetition writes the same again: WAIT
	// has something to wait for.
	private static final Script COMPLETE = Script.of("""
			if not state then return 'N' end
			if token ~= ARGV[1] or state == 'F' then return 'L' end
			if state == 'P' then
			  value = head('C', now) .. string.sub(value, body, rest - 1) .. ARGV[2]
			end
			redis.call('SET', KEYS[1], value, 'KEEPTTL')
			return 'S'
			""");

	// KEYS[1] the record; ARGV token, outcome, attempts to give back
	private static final Script FAIL = Script.of("""
			if not state then return 'N' end
			if token ~= ARGV[1] or state == 'C' then return 'L' end
			if state == 'P' then
			  attempt = attempt - ARGV[3]
			  redis.call('SET', KEYS[1], head('F', 0) .. string.sub(value, body, rest - 1) .. ARGV[2], 'KEEPTTL')
			end
			return 'S'
			""");

	// KEYS[1] the record; ARGV token, lease
	private static final Script RENEW = Script.of("""
			if not state then return 'N' end
			if token ~= ARGV[1] or state ~= 'P' then return 'L' end
			value = head('P', now + ARGV[2]) .. string.sub(value, body)
			local left = redis.call('PTTL', KEYS[1])
			if left >= 0 and left < tonumber(ARGV[2]) then
			  redis.call('SET', KEYS[1], value, 'PX', ARGV[2])
			else
			  redis.call('SET', KEYS[1], value, 'KEEPTTL')
			end
			return 'S'
			""");

	// KEYS[1] the record; ARGV token, lease, time to live, fingerprint, scope, key, and
	// fence and attempt of the claim
	private static final Script RESTORE = Script.of("""
			if state then
			  if token ~= ARGV[1] or state ~= 'P' then return 'L' end
			  value = head('P', now + ARGV[2]) .. string.sub(value, body)
			  redis.call('SET', KEYS[1], value, 'PX', math.max(redis.call('PTTL', KEYS[1]), ARGV[2]))
			  return 'S'
			end
			token, fence, attempt, created, f, s, k = ARGV[1], ARGV[7], ARGV[8], now, #ARGV[4], #ARGV[5], #ARGV[6]
			redis.call('SET', KEYS[1], head('P', now + ARGV[2]) .. ARGV[4] .. ARGV[5] .. ARGV[6] .. '-', 'PX', ARGV[3])
			return 'S'
			""");

	// KEYS[1] the record
	private static final Script FIND = Script.of("""
			if not state then return '' end
			return string.format('%s%s %s %s %s %.0f ', state, fence, attempt, lease, created,
			  now + redis.call('PTTL', KEYS[1])) .. string.sub(value, rest)
			""");

	Invocation claim(ClaimRequest request) {
		IdempotencyKey key = request.key();
		return invoke(CLAIM, key, token(request), lease(request), timeToLive(request), fingerprint(request),
				utf8(key.scope()), utf8(key.value()));
	}

	Invocation complete(Completion completion) {
		ClaimRequest claim = completion.claim();
		return invoke(COMPLETE, claim.key(), token(claim), Outcome.of(completion.result()));
	}

	Invocation fail(ClaimRequest claim, Failure failure) {
		return invoke(FAIL, claim.key(), token(claim), Outcome.of(failure), number(0));
	}

	Invocation release(ClaimRequest claim) {
		return invoke(FAIL, claim.key(), token(claim), Outcome.none(), number(1));
	}

	Invocation renew(ClaimRequest claim) {
		return invoke(RENEW, claim.key(), token(claim), lease(claim));
	}

	Invocation restore(ClaimRequest claim, Claim.Acquired acquired) {
		IdempotencyKey key = claim.key();
		return invoke(RESTORE, key, token(claim), lease(claim), timeToLive(claim), fingerprint(claim),
				utf8(key.scope()), utf8(key.value()), number(acquired.fence()), number(acquired.attempt()));
	}

	Invocation find(IdempotencyKey key) {
		return invoke(FIND, key);
	}

	private Invocation invoke(Script script, IdempotencyKey key, byte[]... arguments) {
		return new Invocation(script, this.keys.bytes(key), arguments);
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

	private static byte[] number(long number) {
		return utf8(Long.toString(number));
	}

	private static byte[] utf8(String text) {
		return text.getBytes(StandardCharsets.UTF_8);
	}

}
