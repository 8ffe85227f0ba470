package dev.idempotency.redis;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

import org.jspecify.annotations.Nullable;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import dev.idempotency.Claim;
import dev.idempotency.ClaimRequest;
import dev.idempotency.Failure;
import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyRecord;
import dev.idempotency.IdempotencyStore;
import dev.idempotency.Settlement;

/**
 * The store in Redis 6 or later: standalone, with Sentinel, or a cluster. Each transition
 * is one script on one key, in one round trip.
 * <p>
 * The time to live of a key is its retention, counted from the claim; the lease is a part
 * of the value, so that fencing tokens outlive it. A record that Redis has removed is
 * forgotten: its owner's completion is {@link Settlement#LOST}.
 *
 * @since 0.1.0
 */
public final class RedisIdempotencyStore implements IdempotencyStore, AutoCloseable {

	private static final IdempotencyKey PING = IdempotencyKey.of("idempotency", "ping");

	private static final Duration MIN_TIMEOUT = Duration.ofMillis(100);

	// KEYS[1] the record; ARGV token, lease, time to live, fingerprint, scope, key
	private static final Script CLAIM = Script.of("""
			if state then
			  local known = string.sub(value, body, body + f - 1)
			  if #known > 0 and #ARGV[4] > 0 and known ~= ARGV[4] then return { 'mismatch' } end
			  if state == 'C' then return { 'completed', string.sub(value, rest) } end
			  if state == 'F' or token ~= ARGV[1] then
			    if state == 'P' and tonumber(lease) > now then return { 'live', lease - now } end
			    fence, attempt = fence + 1, attempt + 1
			  end
			else
			  fence, attempt, created = 1, 1, now
			end
			token, f, s, k = ARGV[1], #ARGV[4], #ARGV[5], #ARGV[6]
			redis.call('SET', KEYS[1], head('P', now + ARGV[2]) .. ARGV[4] .. ARGV[5] .. ARGV[6] .. '-', 'PX', ARGV[3])
			return { 'acquired', tonumber(fence), tonumber(attempt) }
			""");

	// KEYS[1] the record; ARGV token, outcome. A repetition writes the same again: WAIT
	// has something to wait for.
	private static final Script COMPLETE = Script.withoutClock("""
			if token ~= ARGV[1] or state == 'F' then return { 'lost' } end
			if state == 'P' then
			  value = 'idem1 C' .. string.sub(value, 8, rest - 1) .. ARGV[2]
			end
			redis.call('SET', KEYS[1], value, 'KEEPTTL')
			return { 'settled' }
			""");

	// KEYS[1] the record; ARGV token, outcome, attempts to give back
	private static final Script FAIL = Script.of("""
			if token ~= ARGV[1] or state == 'C' then return { 'lost' } end
			if state == 'P' then
			  attempt = attempt - ARGV[3]
			  redis.call('SET', KEYS[1], head('F', 0) .. string.sub(value, body, rest - 1) .. ARGV[2], 'KEEPTTL')
			end
			return { 'settled' }
			""");

	// KEYS[1] the record; ARGV token, lease
	private static final Script RENEW = Script.of("""
			if token ~= ARGV[1] or state ~= 'P' then return { 'lost' } end
			value = head('P', now + ARGV[2]) .. string.sub(value, body)
			local left = redis.call('PTTL', KEYS[1])
			if left >= 0 and left < tonumber(ARGV[2]) then
			  redis.call('SET', KEYS[1], value, 'PX', ARGV[2])
			else
			  redis.call('SET', KEYS[1], value, 'KEEPTTL')
			end
			return { 'settled' }
			""");

	// KEYS[1] the record
	private static final Script FIND = Script.of("""
			if not state then return {} end
			return { state, tonumber(fence), tonumber(attempt), tonumber(lease), tonumber(created),
			  now + redis.call('PTTL', KEYS[1]), string.sub(value, rest) }
			""");

	private final Connections connections;

	private final KeyNames keys;

	private final @Nullable ReplicatedConnection replicated;

	/**
	 * Create a store. No connection is made before it is used.
	 * @param factory the connections
	 * @param keyPrefix the beginning of the names of all keys
	 * @param replicas how many replicas must confirm a completion
	 * @param timeout how long a call may take
	 */
	public RedisIdempotencyStore(LettuceConnectionFactory factory, String keyPrefix, int replicas, Duration timeout) {
		if (timeout.compareTo(MIN_TIMEOUT) < 0) {
			throw new IdempotencyConfigurationException("The time-out of the idempotency store is " + timeout + ".",
					"Set 'idempotency.store.timeout' to " + MIN_TIMEOUT + " or more.");
		}
		if (replicas < 0) {
			throw new IdempotencyConfigurationException("'idempotency.redis.replicas' is " + replicas + ".",
					"Set 'idempotency.redis.replicas' to the number of replicas that must confirm a completion, or to 0.");
		}
		this.keys = new KeyNames(keyPrefix);
		this.connections = new Connections(factory, timeout);
		this.replicated = (replicas > 0) ? new ReplicatedConnection(factory, replicas, timeout) : null;
	}

	@Override
	public String name() {
		return "redis";
	}

	@Override
	public Claim claim(ClaimRequest request) {
		IdempotencyKey key = request.key();
		long retention = Math.max(request.retention().toMillis(), request.lease().toMillis());
		byte[] fingerprint = request.fingerprint();
		return Replies.claim(run(CLAIM, key, token(request), lease(request), number(retention),
				(fingerprint != null) ? fingerprint : new byte[0], utf8(key.scope()), utf8(key.value())));
	}

	@Override
	public Settlement complete(ClaimRequest claim, byte @Nullable [] result) {
		ReplicatedConnection replicated = this.replicated;
		if (replicated == null) {
			return Replies.settlement(run(COMPLETE, claim.key(), token(claim), Outcome.of(result)));
		}
		return Replies.settlement(this.connections.limited((deadline) -> replicated.run(COMPLETE, deadline,
				this.keys.bytes(claim.key()), token(claim), Outcome.of(result))));
	}

	@Override
	public Settlement fail(ClaimRequest claim, Failure failure) {
		return Replies.settlement(run(FAIL, claim.key(), token(claim), Outcome.of(failure), number(0)));
	}

	@Override
	public Settlement release(ClaimRequest claim) {
		return Replies.settlement(run(FAIL, claim.key(), token(claim), Outcome.none(), number(1)));
	}

	@Override
	public Settlement renew(ClaimRequest claim) {
		return Replies.settlement(run(RENEW, claim.key(), token(claim), lease(claim)));
	}

	@Override
	public List<Settlement> renewAll(List<ClaimRequest> claims) {
		return claims.isEmpty() ? List.of() : this.connections.shared((commands, deadline) -> {
			List<ScriptCall> calls = claims.stream()
				.map((claim) -> new ScriptCall(commands, RENEW, this.keys.bytes(claim.key()), token(claim),
						lease(claim)))
				.toList();
			return ScriptCall.awaitAll(calls, deadline).stream().map(Replies::settlement).toList();
		});
	}

	@Override
	public Optional<IdempotencyRecord> find(IdempotencyKey key) {
		return Optional.ofNullable(Replies.record(key, run(FIND, key)));
	}

	@Override
	public void ping() {
		find(PING);
	}

	@Override
	public void close() {
		if (this.replicated != null) {
			this.replicated.close();
		}
	}

	private List<Object> run(Script script, IdempotencyKey key, byte[]... arguments) {
		return this.connections.shared(
				(commands, deadline) -> ScriptCall.run(commands, script, deadline, this.keys.bytes(key), arguments));
	}

	private static byte[] token(ClaimRequest claim) {
		return utf8(claim.token().toString());
	}

	private static byte[] lease(ClaimRequest claim) {
		return number(claim.lease().toMillis());
	}

	private static byte[] number(long number) {
		return utf8(Long.toString(number));
	}

	private static byte[] utf8(String text) {
		return text.getBytes(StandardCharsets.UTF_8);
	}

}
