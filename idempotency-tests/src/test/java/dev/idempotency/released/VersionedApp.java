/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.released;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import java.util.stream.Stream;

import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.context.annotation.ImportCandidates;
import org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration;
import org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.kafka.autoconfigure.KafkaAutoConfiguration;
import org.springframework.boot.test.util.TestPropertyValues;
import org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;
import org.springframework.util.ClassUtils;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.outbox.Outbox;
import dev.idempotency.outbox.OutboxStore;
import dev.idempotency.outbox.OutboxStore.ClaimedRow;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.OffsetMark;
import dev.idempotency.store.TransactionalIdempotencyStore;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.IdempotentResult;
import dev.idempotency.template.OperationSpec;

import static dev.idempotency.contract.OneKey.one;

/**
 * The {@link Instance} that each version of the library runs. It uses the API only, which
 * two neighbouring versions have in common.
 */
final class VersionedApp implements Instance {

	private static final String SCOPE = "released";

	private static final List<Class<?>> BOOT = List.of(AopAutoConfiguration.class, DataSourceAutoConfiguration.class,
			DataSourceTransactionManagerAutoConfiguration.class, TransactionAutoConfiguration.class,
			DataRedisAutoConfiguration.class, KafkaAutoConfiguration.class, JacksonAutoConfiguration.class);

	private final AnnotationConfigApplicationContext context;

	private final Map<String, ClaimRequest> claims = new ConcurrentHashMap<>();

	VersionedApp(Map<String, String> properties) {
		ClassLoader own = VersionedApp.class.getClassLoader();
		// A context takes the classes of its conditions from the loader of its thread.
		Thread thread = Thread.currentThread();
		ClassLoader before = thread.getContextClassLoader();
		thread.setContextClassLoader(own);
		try {
			this.context = new AnnotationConfigApplicationContext();
			this.context.setClassLoader(own);
			TestPropertyValues.of(properties).applyTo(this.context);
			this.context.register(AutoConfigurations.getClasses(AutoConfigurations.of(autoConfigurations(own))));
			this.context.refresh();
		}
		finally {
			thread.setContextClassLoader(before);
		}
	}

	private static Class<?>[] autoConfigurations(ClassLoader own) {
		return Stream
			.concat(BOOT.stream(),
					ImportCandidates.load(AutoConfiguration.class, own)
						.getCandidates()
						.stream()
						.filter((name) -> name.startsWith("dev.idempotency."))
						.distinct()
						.map((name) -> ClassUtils.resolveClassName(name, own)))
			.toArray(Class[]::new);
	}

	private IdempotencyTemplate template(String store) {
		return store.equals("default") ? this.context.getBean(IdempotencyTemplate.class)
				: this.context.getBean(store + "IdempotencyTemplate", IdempotencyTemplate.class);
	}

	@Override
	public String run(Order order, Supplier<String> handler) {
		OperationSpec operation = template(order.store()).operation("app", order.key())
			.scope(SCOPE)
			.mode(order.transactional() ? Mode.TRANSACTIONAL : Mode.LEASED);
		if (order.content() != null) {
			operation.content(order.content());
		}
		if (order.version() != null) {
			operation.version(order.version());
		}
		try {
			IdempotentResult<String> result = operation.execute(String.class, () -> handle(handler));
			String outcome = result.stale() ? "stale" : result.result();
			return result.duplicate() ? "duplicate " + outcome : String.valueOf(outcome);
		}
		catch (OperationDeclinedException ex) {
			return String.valueOf(ex.getMessage());
		}
		catch (RuntimeException ex) {
			return ex.getClass().getSimpleName();
		}
	}

	private static String handle(Supplier<String> handler) {
		try {
			return handler.get() + " " + IdempotentExecution.current().attempt();
		}
		catch (UnsupportedOperationException ex) {
			throw new OperationDeclinedException(String.valueOf(ex.getMessage()));
		}
	}

	private static IdempotencyKey key(Order order) {
		return IdempotencyKey.of(SCOPE, order.key());
	}

	@Override
	public String claim(Order order, long lease) {
		ClaimRequest request = new ClaimRequest(key(order), UUID.randomUUID(), null, Duration.ofMillis(lease),
				Duration.ofHours(1));
		Claim claim = one(template(order.store()).store()).claim(request);
		if (claim instanceof Claim.Acquired) {
			this.claims.put(order.key(), request);
		}
		return claim.toString();
	}

	@Override
	public String complete(Order order) {
		return one(template(order.store()).store()).complete(this.claims.get(order.key()), new byte[] { 1 }).name();
	}

	@Override
	public String find(Order order) {
		IdempotencyRecord record = one(template(order.store()).store()).find(key(order)).orElseThrow();
		return record.state() + " " + record.fence() + " " + record.attempt() + " " + record.failure();
	}

	@Override
	public long raise(String store, String topic, long offset) {
		TransactionalIdempotencyStore marks = (TransactionalIdempotencyStore) template(store).store();
		OffsetMark mark = new OffsetMark(SCOPE, topic, new UUID(1, 2), 0, offset);
		return inTransaction(() -> marks.offsetMarks().orElseThrow().raise(List.of(mark), false).get(0));
	}

	@Override
	public void send(String key, String payload) {
		inTransaction(() -> {
			this.context.getBean(Outbox.class).send("topic", key, payload);
			return payload;
		});
	}

	private <T> T inTransaction(Supplier<T> action) {
		return new TransactionTemplate(this.context.getBean(PlatformTransactionManager.class))
			.execute((status) -> action.get());
	}

	@Override
	public List<String> relay() {
		OutboxStore.Claim claim = this.context.getBean(OutboxStore.class).claim(10, Set.of());
		try {
			List<ClaimedRow> rows = claim.rows();
			claim.settle(rows, List.of());
			return rows.stream()
				.map((claimed) -> text(claimed.row().key()) + " " + text(claimed.row().payload()) + " "
						+ claimed.row().headers().size() + " " + (claimed.undecodable() == null))
				.toList();
		}
		finally {
			claim.close();
		}
	}

	private static String text(byte[] bytes) {
		return new String(bytes, StandardCharsets.UTF_8);
	}

	@Override
	public void close() {
		this.context.close();
	}

}
