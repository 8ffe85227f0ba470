/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test;

import java.lang.reflect.Method;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.dao.DataAccessResourceFailureException;
import org.springframework.util.Assert;
import org.springframework.util.ClassUtils;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.template.StoreObserver.StoreCall;

/**
 * Lets calls of the stores of a context fail, without an outage of a server. A fault
 * lasts until it is closed:
 *
 * <pre class="code">
 * try (StoreFaults.Fault outage = faults.unavailable()) {
 *     duplicates.of("payments", "p-1", payment).send();
 *     outage.awaitHit();
 * }
 * duplicates.awaitEnded();
 * </pre>
 *
 * Faults apply to all stores of the context, in each mode: to the claims of transactional
 * mode and its marks of offsets too, but not to the handler's own statements in the same
 * database, nor to the commit. Several faults may be active at the same time. A call that
 * has begun before a fault is not affected.
 * <p>
 * A test decorates the stores with proxies, so beans that inject a store must do so by
 * its interface.
 *
 * @since 0.1.0
 */
public final class StoreFaults {

	// They call no server.
	private static final Set<String> LOCAL = Set.of("name", "warning", "supportsClaimAhead", "leaseProblem",
			"requireCommittable", "isolationProblem", "table", "close", "problem");

	// They call no server either, but their results do.
	private static final Set<String> VIEWS = Set.of("records", "offsetMarks");

	private static final Duration EXPIRED = Duration.ofMillis(1);

	private final KnownKeys keys;

	private final Duration timeout;

	private final List<Fault> faults = new CopyOnWriteArrayList<>();

	StoreFaults(KnownKeys keys, Duration timeout) {
		this.keys = keys;
		this.timeout = timeout;
	}

	/**
	 * Let calls fail as if there were no connection to the store. They have no effect.
	 * Records wait, and are redelivered when the fault is closed and the circuit breaker
	 * permits calls again.
	 * @param calls the calls that fail, none for all
	 * @return the fault
	 */
	public Fault unavailable(StoreCall... calls) {
		return begin(calls, (invocation, next) -> {
			throw new DataAccessResourceFailureException("The store is unavailable, because a test says so");
		});
	}

	/**
	 * Delay calls. A call whose delay is as long as {@code idempotency.store.timeout}
	 * ends after that time without an effect, as a call of an overloaded store does.
	 * @param delay the time before the call
	 * @param calls the calls that are delayed, none for all
	 * @return the fault
	 */
	public Fault slow(Duration delay, StoreCall... calls) {
		Assert.isTrue(!delay.isNegative(), "'delay' must not be negative");
		return begin(calls, (invocation, next) -> {
			boolean expired = delay.compareTo(this.timeout) >= 0;
			sleep(expired ? this.timeout : delay);
			if (expired) {
				throw new DataAccessResourceFailureException("No answer within " + this.timeout.toMillis()
						+ " ms, because a test delays calls by " + delay.toMillis() + " ms");
			}
			return next.proceed();
		});
	}

	/**
	 * Let calls take effect and lose their answers: the store has the change, and its
	 * caller sees an outage. In transactional mode the caller then rolls the transaction
	 * back, and the change with it.
	 * @param calls the calls whose answers are lost, none for all
	 * @return the fault
	 */
	public Fault loseAnswers(StoreCall... calls) {
		return begin(calls, (invocation, next) -> {
			next.proceed();
			throw new DataAccessResourceFailureException("The answer was lost, because a test says so");
		});
	}

	/**
	 * Let leases expire while their handlers run, as if each owner paused for longer than
	 * its lease. A claim expires after a millisecond, and renewals have no effect, which
	 * the owner does not notice. The next delivery of the key therefore takes over the
	 * claim while the first handler still runs. Transactional mode has no leases.
	 * @return the fault, whose hits are the claims and renewals
	 */
	public Fault expireLeases() {
		return begin(new StoreCall[] { StoreCall.CLAIM, StoreCall.RENEW }, (invocation, next) -> {
			@Nullable Object[] arguments = invocation.getArguments();
			if (invocation.getMethod().getName().equals("renew") && arguments[0] instanceof List<?> claims) {
				return Collections.nCopies(claims.size(), Settlement.SETTLED);
			}
			for (int i = 0; i < arguments.length; i++) {
				arguments[i] = expired(arguments[i]);
			}
			return next.proceed();
		});
	}

	/**
	 * Delete the record of a key in each scope in which this context has claimed it, as a
	 * store does that evicts records or fails over to a replica without it. The owner of
	 * a live claim writes its record again. A local cache still knows a completed key.
	 * @param key the key without its scope
	 * @throws IllegalArgumentException if no listener of this context has claimed the key
	 * @throws IllegalStateException if the store cannot delete records by key
	 */
	public void forget(String key) {
		List<IdempotencyKey> known = this.keys.find(key);
		if (known.isEmpty()) {
			throw new IllegalArgumentException("The key '" + key + "' cannot be forgotten, because no listener of this "
					+ "context has claimed it. Send its record first");
		}
		for (IdempotencyKey one : known) {
			IdempotencyStore store = this.keys.store(one);
			IdempotencyRecords records = store.records()
				.orElseThrow(() -> new IllegalStateException("The store '" + store.name() + "' cannot forget the " + one
						+ ", because it has no IdempotencyRecords. Delete the record in the store itself"));
			records.evict(one, true);
		}
	}

	private Fault begin(StoreCall[] calls, Effect effect) {
		Fault fault = new Fault(Set.of(calls), effect);
		this.faults.add(fault);
		return fault;
	}

	IdempotencyStore intercept(IdempotencyStore store) {
		this.keys.add(store);
		return (IdempotencyStore) proxy(store, new Interceptor(store));
	}

	private static Object proxy(Object target, MethodInterceptor interceptor) {
		ProxyFactory factory = new ProxyFactory(ClassUtils.getAllInterfaces(target));
		factory.setTarget(target);
		factory.addAdvice(interceptor);
		return factory.getProxy(target.getClass().getClassLoader());
	}

	private static @Nullable Object expired(@Nullable Object argument) {
		if (argument instanceof ClaimRequest request) {
			return new ClaimRequest(request.key(), request.token(), request.fingerprint(), EXPIRED, request.retention(),
					request.version());
		}
		return (argument instanceof List<?> list) ? list.stream().map(StoreFaults::expired).toList() : argument;
	}

	private static void sleep(Duration delay) {
		try {
			Thread.sleep(delay.toMillis());
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new DataAccessResourceFailureException("Interrupted while a test delayed a call", ex);
		}
	}

	private static Set<StoreCall> calls(MethodInvocation invocation) {
		@Nullable Object[] arguments = invocation.getArguments();
		return switch (invocation.getMethod().getName()) {
			case "completeAndClaim" -> EnumSet.of(StoreCall.COMPLETE, StoreCall.CLAIM);
			case "claim", "insert", "claimInTransaction", "lookUp", "raise" -> EnumSet.of(StoreCall.CLAIM);
			case "settle" -> endings(arguments[0]);
			case "settleAfterTransaction" -> {
				Set<StoreCall> calls = endings(arguments[0]);
				// Marks are lowered when a completion is undone.
				if (calls.isEmpty()) {
					calls.add(StoreCall.RELEASE);
				}
				yield calls;
			}
			case "storeResults" -> EnumSet.of(StoreCall.COMPLETE);
			case "renew", "restore" -> EnumSet.of(StoreCall.RENEW);
			default -> EnumSet.noneOf(StoreCall.class);
		};
	}

	private static Set<StoreCall> endings(@Nullable Object endings) {
		Set<StoreCall> calls = EnumSet.noneOf(StoreCall.class);
		for (Object ending : (endings instanceof List<?> list) ? list : List.of()) {
			calls.add((ending instanceof Ending.Completed) ? StoreCall.COMPLETE
					: (ending instanceof Ending.Failed) ? StoreCall.FAIL : StoreCall.RELEASE);
		}
		return calls;
	}

	/**
	 * A fault of the stores, which ends when it is closed.
	 */
	public final class Fault implements AutoCloseable {

		private static final Duration PATIENCE = Duration.ofSeconds(30);

		private final Set<StoreCall> calls;

		private final Effect effect;

		private final AtomicInteger hits = new AtomicInteger();

		private Fault(Set<StoreCall> calls, Effect effect) {
			this.calls = calls;
			this.effect = effect;
		}

		/**
		 * Return the number of calls that the fault has affected. A test whose fault has
		 * none proves nothing.
		 * @return the number of calls
		 */
		public int hits() {
			return this.hits.get();
		}

		/**
		 * Wait until the fault has affected a call, for 30 seconds at most.
		 * @throws org.awaitility.core.ConditionTimeoutException if it has not
		 */
		public void awaitHit() {
			Awaitility.await("a call of the store that the fault affects")
				.atMost(PATIENCE)
				.pollInterval(Duration.ofMillis(10))
				.until(() -> hits() > 0);
		}

		/**
		 * End the fault. The next call is not affected. Closing it again has no effect.
		 */
		@Override
		public void close() {
			StoreFaults.this.faults.remove(this);
		}

		private boolean affects(Set<StoreCall> made) {
			return this.calls.isEmpty() || made.stream().anyMatch(this.calls::contains);
		}

	}

	/**
	 * The effect of a fault on a call.
	 */
	private interface Effect {

		@Nullable Object apply(MethodInvocation invocation, Next next) throws Throwable;

	}

	/**
	 * The call itself, or the next fault.
	 */
	private interface Next {

		@Nullable Object proceed() throws Throwable;

	}

	/**
	 * Applies the active faults to the calls of a store and of its views.
	 */
	private final class Interceptor implements MethodInterceptor {

		private final IdempotencyStore store;

		private Interceptor(IdempotencyStore store) {
			this.store = store;
		}

		@Override
		public @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
			Method method = invocation.getMethod();
			if (method.getDeclaringClass() == Object.class || LOCAL.contains(method.getName())) {
				return invocation.proceed();
			}
			if (VIEWS.contains(method.getName())) {
				return (invocation.proceed() instanceof Optional<?> view) ? view.map((target) -> proxy(target, this))
						: null;
			}
			Set<StoreCall> calls = calls(invocation);
			if (calls.contains(StoreCall.CLAIM)) {
				remember(Arrays.asList(invocation.getArguments()));
			}
			List<Fault> active = StoreFaults.this.faults.stream().filter((fault) -> fault.affects(calls)).toList();
			return call(invocation, active);
		}

		private @Nullable Object call(MethodInvocation invocation, List<Fault> active) throws Throwable {
			if (active.isEmpty()) {
				return invocation.proceed();
			}
			Fault fault = active.get(0);
			fault.hits.incrementAndGet();
			return fault.effect.apply(invocation, () -> call(invocation, active.subList(1, active.size())));
		}

		private void remember(List<?> arguments) {
			for (Object argument : arguments) {
				if (argument instanceof ClaimRequest request) {
					StoreFaults.this.keys.add(request.key(), this.store);
				}
				else if (argument instanceof List<?> list) {
					remember(list);
				}
			}
		}

	}

}
