package dev.idempotency.redis;

import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

import io.lettuce.core.RedisCommandExecutionException;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.context.Lifecycle;
import org.springframework.scheduling.concurrent.CustomizableThreadFactory;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyStoreUnavailableException;

/**
 * Checks that the servers of a {@link RedisIdempotencyStore} allow the commands that it
 * needs, and that they do not evict keys: at the start, every five minutes, and soon
 * after each new connection, as after a fail-over.
 * <p>
 * At the start, a refused command is an {@link IdempotencyConfigurationException}, and
 * eviction, or a policy that cannot be read, is one if it is to be refused. While the
 * application runs, findings are logged, published to a callback and part of
 * {@link RedisIdempotencyStore#warning()}; consumption is not stopped. A server that
 * cannot be reached at the start is checked later.
 *
 * @since 0.1.0
 */
public final class RedisServerCheck implements Lifecycle {

	/**
	 * The phase of the check: after the connection factories, which start at 0, and
	 * before the containers, which start at {@code Integer.MAX_VALUE - 100}.
	 */
	public static final int PHASE = Integer.MAX_VALUE / 2;

	private static final Log logger = LogFactory.getLog(RedisServerCheck.class);

	private static final Duration INTERVAL = Duration.ofMinutes(5);

	// The first connection takes longer than a call may.
	private static final Duration FIRST = Duration.ofSeconds(10);

	// Connections come in groups, and a new master loads its data first.
	private static final Duration SOON = Duration.ofSeconds(1);

	private final RedisIdempotencyStore store;

	private final boolean refuseEviction;

	private final Consumer<Boolean> evictable;

	private final Duration interval;

	private final AtomicBoolean due = new AtomicBoolean();

	private Findings latest = Findings.NONE;

	private volatile @Nullable ScheduledExecutorService executor;

	/**
	 * Create a check.
	 * @param store the store whose servers are checked
	 * @param refuseEviction whether servers that may evict keys, or do not let their
	 * policy be read, are refused at the start
	 * @param evictable called after each check with whether servers may evict keys
	 */
	public RedisServerCheck(RedisIdempotencyStore store, boolean refuseEviction, Consumer<Boolean> evictable) {
		this(store, refuseEviction, evictable, INTERVAL);
	}

	RedisServerCheck(RedisIdempotencyStore store, boolean refuseEviction, Consumer<Boolean> evictable,
			Duration interval) {
		this.store = store;
		this.refuseEviction = refuseEviction;
		this.evictable = evictable;
		this.interval = interval;
	}

	/**
	 * Check the servers, and go on doing so on a thread of its own.
	 * @throws IdempotencyConfigurationException if a server refuses what the store needs,
	 * or may evict keys and that is to be refused
	 */
	@Override
	public void start() {
		try {
			Findings findings = this.store.inspect(FIRST);
			findings.refusal().ifPresent(RedisServerCheck::fail);
			if (this.refuseEviction) {
				findings.eviction().ifPresent(RedisServerCheck::fail);
			}
			report(findings);
		}
		catch (IdempotencyConfigurationException ex) {
			throw ex;
		}
		catch (RuntimeException ex) {
			requireLogin(ex);
			logger.warn("Redis cannot be reached at the start of the application: idempotent listeners wait until it "
					+ "answers, and its permissions and memory policy are checked then", ex);
		}
		CustomizableThreadFactory threads = new CustomizableThreadFactory("idempotency-redis-check-");
		threads.setDaemon(true);
		ScheduledExecutorService scheduler = Executors.newSingleThreadScheduledExecutor(threads);
		this.executor = scheduler;
		this.due.set(false);
		scheduler.scheduleWithFixedDelay(this::check, this.interval.toNanos(), this.interval.toNanos(),
				TimeUnit.NANOSECONDS);
		this.store.onConnected(this::checkSoon);
	}

	private static void fail(IdempotencyConfigurationException finding) {
		throw finding;
	}

	// A wrong password looks like a connection that cannot be made.
	private static void requireLogin(Throwable failure) {
		for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
			if (cause instanceof RedisCommandExecutionException refusal) {
				String code = RequiredCommands.code(refusal);
				if ("NOAUTH".equals(code) || "WRONGPASS".equals(code) || "NOPERM".equals(code)) {
					throw new IdempotencyConfigurationException(
							"Redis refuses the connection of the idempotency store (" + code + ").",
							"Set 'spring.data.redis.username' and 'spring.data.redis.password' to those of a user of "
									+ "the server.");
				}
			}
		}
	}

	private void checkSoon() {
		ScheduledExecutorService scheduler = this.executor;
		if (scheduler == null || !this.due.compareAndSet(false, true)) {
			return;
		}
		try {
			scheduler.schedule(() -> {
				this.due.set(false);
				check();
			}, SOON.toNanos(), TimeUnit.NANOSECONDS);
		}
		catch (RejectedExecutionException ex) {
			logger.debug("The check has been stopped", ex);
		}
	}

	// Whatever it throws, the next check comes.
	private void check() {
		try {
			report(this.store.inspect(null));
		}
		catch (IdempotencyStoreUnavailableException ex) {
			logger.debug("The servers could not be checked", ex);
		}
		catch (Throwable ex) {
			logger.warn("The permissions and the memory policy of Redis could not be checked; the next check is in "
					+ this.interval, ex);
		}
	}

	private void report(Findings findings) {
		this.store.warn(findings.describe().orElse(null));
		EvictionPolicies policies = findings.policies();
		if (!policies.evicting().isEmpty() || !policies.hidden()) {
			this.evictable.accept(!policies.evicting().isEmpty());
		}
		if (!findings.equals(this.latest)) {
			log(findings);
			this.latest = findings;
		}
	}

	private void log(Findings findings) {
		findings.refusal().ifPresent((finding) -> logger.error(finding.getMessage() + " " + finding.action()));
		findings.eviction().ifPresent((finding) -> {
			String message = finding.getMessage() + " " + finding.action();
			if (this.refuseEviction) {
				logger.error(message);
			}
			else {
				logger.warn(message);
			}
		});
		if (findings.describe().isEmpty() && this.latest.describe().isPresent()) {
			logger.info("Redis allows what the idempotency store needs, and evicts no keys any more");
		}
	}

	/**
	 * End the checks.
	 */
	@Override
	public void stop() {
		ScheduledExecutorService scheduler = this.executor;
		this.executor = null;
		if (scheduler != null) {
			scheduler.shutdownNow();
		}
	}

	/**
	 * Whether the servers are being checked.
	 * @return whether this has been started and not stopped
	 */
	@Override
	public boolean isRunning() {
		return this.executor != null;
	}

}
