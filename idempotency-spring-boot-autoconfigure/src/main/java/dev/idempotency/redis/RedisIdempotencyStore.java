package dev.idempotency.redis;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.IntStream;

import org.jspecify.annotations.Nullable;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Completion;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.Settlement;

/**
 * The store in Redis 6 or later: standalone, with Sentinel, or a cluster. Each transition
 * is one script on one key, in one round trip.
 * <p>
 * The time to live of a key is its retention, counted from the claim; the lease is a part
 * of the value, so that fencing tokens outlive it. A record that Redis has removed is
 * {@link Settlement#FORGOTTEN}.
 *
 * @since 0.1.0
 */
public final class RedisIdempotencyStore implements IdempotencyStore, AutoCloseable {

	private static final IdempotencyKey PING = IdempotencyKey.of("idempotency", "ping");

	private static final Duration MIN_TIMEOUT = Duration.ofMillis(100);

	private final Connections connections;

	private final Transitions transitions;

	private final RedisRecords records;

	private final @Nullable ReplicatedConnection replicated;

	private final RequiredCommands required;

	private final Duration timeout;

	private volatile @Nullable String warning;

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
		this.transitions = new Transitions(new KeyNames(keyPrefix));
		this.connections = new Connections(factory, timeout);
		this.records = new RedisRecords(this.connections, new KeyNames(keyPrefix), timeout);
		this.replicated = (replicas > 0) ? new ReplicatedConnection(factory, replicas, timeout) : null;
		this.required = new RequiredCommands(new KeyNames(keyPrefix), replicas > 0);
		this.timeout = timeout;
	}

	@Override
	public String name() {
		return "redis";
	}

	@Override
	public Claim claim(ClaimRequest request) {
		return Replies.claim(request, run(this.transitions.claim(request)));
	}

	@Override
	public Settlement complete(ClaimRequest claim, byte @Nullable [] result) {
		return completeAll(List.of(new Completion(claim, result))).get(0);
	}

	@Override
	public Settlement fail(ClaimRequest claim, Failure failure) {
		return Replies.settlement(run(this.transitions.fail(claim, failure)));
	}

	@Override
	public Settlement release(ClaimRequest claim) {
		return Replies.settlement(run(this.transitions.release(claim)));
	}

	@Override
	public Settlement renew(ClaimRequest claim) {
		return Replies.settlement(run(this.transitions.renew(claim)));
	}

	@Override
	public Settlement restore(ClaimRequest claim, Claim.Acquired acquired) {
		return Replies.settlement(run(this.transitions.restore(claim, acquired)));
	}

	@Override
	public List<Settlement> renewAll(List<ClaimRequest> claims) {
		return settleAll(claims, this.transitions::renew);
	}

	@Override
	public List<Claim> claimAll(List<ClaimRequest> requests) {
		List<byte[]> replies = runAll(requests, this.transitions::claim);
		return IntStream.range(0, replies.size())
			.mapToObj((i) -> Replies.claim(requests.get(i), replies.get(i)))
			.toList();
	}

	@Override
	public List<Settlement> completeAll(List<Completion> completions) {
		ReplicatedConnection replicated = this.replicated;
		if (replicated == null || completions.isEmpty()) {
			return settleAll(completions, this.transitions::complete);
		}
		List<Invocation> invocations = completions.stream().map(this.transitions::complete).toList();
		return this.connections.limited((deadline) -> replicated.run(invocations, deadline))
			.stream()
			.map(Replies::settlement)
			.toList();
	}

	@Override
	public List<Settlement> failAll(List<ClaimRequest> claims, Failure failure) {
		return settleAll(claims, (claim) -> this.transitions.fail(claim, failure));
	}

	@Override
	public List<Settlement> releaseAll(List<ClaimRequest> claims) {
		return settleAll(claims, this.transitions::release);
	}

	@Override
	public Optional<IdempotencyRecord> find(IdempotencyKey key) {
		return Optional.ofNullable(Replies.record(key, run(this.transitions.find(key))));
	}

	@Override
	public Optional<IdempotencyRecords> records() {
		return Optional.of(this.records);
	}

	@Override
	public void ping() {
		find(PING);
	}

	/**
	 * What {@link RedisServerCheck} has found: servers that may evict keys, or that
	 * refuse a command that the store needs.
	 */
	@Override
	public Optional<String> warning() {
		return Optional.ofNullable(this.warning);
	}

	void warn(@Nullable String warning) {
		this.warning = warning;
	}

	/**
	 * Ask the servers.
	 * @param limit how long it may take, {@code null} for as long as any call
	 * @return what was found
	 */
	Findings inspect(@Nullable Duration limit) {
		return this.connections.shared((limit != null) ? limit : this.timeout, (commands, deadline) -> {
			ReplicatedConnection replicated = this.replicated;
			List<String> refused = this.required.refused(
					(replicated != null) ? replicated.commands(this.required.probe(), deadline) : commands, deadline);
			return new Findings(refused, this.required.keys().prefix(), this.required.rule(),
					EvictionPolicies.read(commands, deadline));
		});
	}

	void onConnected(Runnable callback) {
		this.connections.onConnected(callback);
	}

	@Override
	public void close() {
		if (this.replicated != null) {
			this.replicated.close();
		}
	}

	private byte[] run(Invocation invocation) {
		return this.connections.shared((commands, deadline) -> ScriptCall.run(commands, invocation, deadline));
	}

	private <T> List<Settlement> settleAll(List<T> asked, Function<T, Invocation> transition) {
		return runAll(asked, transition).stream().map(Replies::settlement).toList();
	}

	// All are sent before the first answer is awaited.
	private <T> List<byte[]> runAll(List<T> asked, Function<T, Invocation> transition) {
		return asked.isEmpty() ? List.of() : this.connections.shared((commands, deadline) -> {
			List<ScriptCall> calls = asked.stream()
				.map((each) -> new ScriptCall(commands, transition.apply(each)))
				.toList();
			return ScriptCall.awaitAll(calls, deadline);
		});
	}

}
