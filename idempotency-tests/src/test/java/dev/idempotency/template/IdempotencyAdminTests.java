/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.OperationLostException;
import dev.idempotency.caffeine.CaffeineCompletionCache;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecords.Change;
import dev.idempotency.store.IdempotencyRecords.Selection;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.template.IdempotencyAdmin.BulkEviction;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.RecordingObserver;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;
import dev.idempotency.testsupport.UnreliableStore;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Tests for {@link IdempotencyAdmin}.
 */
class IdempotencyAdminTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private final RecordingObserver listener = new RecordingObserver();

	private final IdempotencyTemplate template = new IdempotencyTemplate(database.store(), settings());

	private final IdempotencyAdmin admin = this.template.admin();

	private final IdempotencyKey key = TestDatabase.newKey();

	private final AtomicInteger runs = new AtomicInteger();

	private Settings settings() {
		return new Settings(null, new JdbcTransactionManager(database.pool()), false, StoreCircuit.ALWAYS_CLOSED,
				new CaffeineCompletionCache(1_000_000, Duration.ofMinutes(1)), this.listener.observers(), List.of(),
				IdempotencyTemplate.Settings.DEFAULT_MAXIMUM_RESULT_SIZE, null, OperationSpec.Defaults.STANDARD);
	}

	@AfterEach
	void close() {
		this.template.close();
	}

	private IdempotentResult<String> run(Mode mode) {
		return run(this.template, mode);
	}

	private IdempotentResult<String> run(IdempotencyTemplate some, Mode mode) {
		return some.execute(TestDatabase.operation(this.key, mode), new TextCodec(),
				() -> "run " + this.runs.incrementAndGet());
	}

	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "AUTO")
	void evictedKeyIsRemovedFromTheCache(Mode mode) {
		run(mode);
		assertThat(run(mode).duplicate()).isTrue();
		assertThat(this.admin.evict(this.key, false, null)).isEqualTo(Change.DONE);
		assertThat(run(mode)).isEqualTo(new IdempotentResult<>("run 2", false));
	}

	@Test
	void duplicateThatReadTheRecordBeforeItsEvictionDoesNotCacheIt() {
		assertNotCached((operator) -> {
			operator.evict(this.key, false, null);
			operator.evict(TestDatabase.newKey(), false, null);
		});
	}

	private void assertNotCached(Consumer<IdempotencyAdmin> eviction) {
		one(database.store()).complete(claim(), null);
		UnreliableStore store = new UnreliableStore(database.store());
		store.showRecords();
		try (IdempotencyTemplate hooked = new IdempotencyTemplate(store, settings())) {
			store.afterClaim((request) -> eviction.accept(hooked.admin()));
			assertThat(run(hooked, Mode.LEASED).duplicate()).isTrue();
			store.afterClaim((request) -> {
			});
			assertThat(run(hooked, Mode.LEASED).duplicate()).isFalse();
		}
	}

	@Test
	void otherKeysAreStillCachedAfterAnEviction() {
		this.admin.evict(TestDatabase.newKey(), false, null);
		run(Mode.LEASED);
		int calls = this.listener.storeCalls().size();
		assertThat(run(Mode.LEASED).duplicate()).isTrue();
		assertThat(this.listener.storeCalls()).hasSize(calls);
	}

	private ClaimRequest claim() {
		ClaimRequest request = TestDatabase.request(this.key);
		one(database.store()).claim(request);
		return request;
	}

	@Test
	void changeIsLoggedWithScopeKeyAndUserAndReported() {
		claim();
		try (Logs logs = new Logs()) {
			this.admin.release(this.key, false, "alice");
			this.admin.release(this.key, true, "alice");
			this.admin.evict(this.key, false, null);
			assertThat(logs.messages("INFO")).singleElement()
				.asString()
				.contains("Not done: release of the " + this.key + " by 'alice'", "alive");
			assertThat(logs.messages("WARN").get(0)).contains("release (forced) of the " + this.key + " by 'alice'");
			assertThat(logs.messages("WARN").get(1)).contains("evict of the " + this.key + " by an unknown user");
		}
		assertThat(this.listener.interventions()).containsExactly("RELEASE refused", "RELEASE done", "EVICT done");
	}

	@Test
	@Tag("promise-4")
	void completionOfAReleasedExecutionIsLost() {
		assertThatExceptionOfType(OperationLostException.class).isThrownBy(
				() -> this.template.execute(TestDatabase.operation(this.key, Mode.LEASED), new TextCodec(), () -> {
					this.admin.release(this.key, true, null);
					return "late";
				}));
		assertThat(run(Mode.LEASED).duplicate()).isFalse();
	}

	private Selection selection() {
		return new Selection(this.key.scope(), this.key.value(), null, null);
	}

	private BulkEviction evictAll(boolean force, int limit, @Nullable String after) {
		return this.admin.evictAll(selection(), force, limit, after, "alice");
	}

	@Test
	void bulkEvictionRemovesTheSelectionFromStoreAndCache() {
		run(Mode.LEASED);
		assertThat(run(Mode.LEASED).duplicate()).isTrue();
		assertThat(this.admin.countEvictable(selection(), false, 10, null))
			.isEqualTo(new BulkEviction(1, 0, true, null));
		assertThat(run(Mode.LEASED).duplicate()).isTrue();
		assertThat(evictAll(false, 10, null)).isEqualTo(new BulkEviction(1, 0, true, null));
		assertThat(run(Mode.LEASED)).isEqualTo(new IdempotentResult<>("run 2", false));
	}

	@Test
	void duplicateThatReadTheRecordBeforeItsBulkEvictionDoesNotCacheIt() {
		assertNotCached((operator) -> operator.evictAll(selection(), false, 10, null, null));
	}

	@Test
	@Tag("promise-2")
	void liveClaimIsEvictedWithTheOthersByForceOnly() {
		ClaimRequest owner = claim();
		assertThat(evictAll(false, 10, null).records()).isZero();
		assertThat(one(database.store()).renew(owner)).isEqualTo(Settlement.SETTLED);
		assertThat(evictAll(true, 10, null).records()).isOne();
		assertThat(one(database.store()).renew(owner)).isEqualTo(Settlement.FORGOTTEN);
	}

	@Test
	void bulkEvictionContinuesAfterItsLimit() {
		for (int i = 0; i < 3; i++) {
			ClaimRequest owner = TestDatabase.request(IdempotencyKey.of(this.key.scope(), this.key.value() + i));
			one(database.store()).claim(owner);
			one(database.store()).fail(owner, new Failure("Refused", null));
		}
		BulkEviction first = evictAll(false, 2, null);
		assertThat(first.records()).isEqualTo(2);
		assertThat(first.complete()).isFalse();
		assertThat(evictAll(false, 2, first.next())).isEqualTo(new BulkEviction(1, 0, true, null));
	}

	@Test
	void limitBelowOneIsRefusedWithoutAnIntervention() {
		assertThatIllegalArgumentException().isThrownBy(() -> evictAll(true, 0, null)).withMessageContaining("'limit'");
		assertThatIllegalArgumentException().isThrownBy(() -> this.admin.countEvictable(selection(), true, -1, null))
			.withMessageContaining("'limit'");
		assertThat(this.listener.interventions()).isEmpty();
	}

	@Test
	void recordThatATransactionHoldsStaysAtABulkEviction() {
		one(database.store()).complete(claim(), null);
		new TransactionTemplate(new JdbcTransactionManager(database.pool())).executeWithoutResult((status) -> {
			new JdbcTemplate(database.pool())
				.queryForList("SELECT 1 FROM " + TestDatabase.TABLE + " WHERE id = ? FOR UPDATE", this.key.id());
			assertThat(evictAll(false, 10, null)).isEqualTo(new BulkEviction(0, 0, true, null));
		});
		assertThat(evictAll(false, 10, null).records()).isOne();
	}

	@Test
	void bulkEvictionIsLoggedAndReportedOnceAndADryRunIsNot() {
		Instant created = Instant.parse("2026-01-01T00:00:00Z");
		one(database.store()).complete(claim(), null);
		try (Logs logs = new Logs()) {
			this.admin.countEvictable(selection(), false, 10, null);
			this.admin.evictAll(new Selection(this.key.scope(), "a\nb", created, created.plusSeconds(1)), false, 10,
					null, "alice");
			evictAll(true, 10, null);
			assertThat(logs.messages("INFO")).containsExactly("Not done: evict of records in scope '" + this.key.scope()
					+ "' with keys that begin with 'a?b' created from 2026-01-01T00:00:00Z created before "
					+ "2026-01-01T00:00:01Z by 'alice'; no record can be evicted");
			assertThat(logs.messages("WARN"))
				.containsExactly("Intervention: evict (forced) of records in scope '" + this.key.scope()
						+ "' with keys that begin with '" + this.key.value() + "' by 'alice', 1 records");
		}
		assertThat(this.listener.interventions()).containsExactly("EVICT refused", "EVICT done");
	}

	@Test
	void storeWithoutRecordsRefusesAChange() {
		try (IdempotencyTemplate other = new IdempotencyTemplate(new UnreliableStore(database.store()),
				new Settings(null, false, this.listener.observers()))) {
			assertThat(other.admin().records()).isEmpty();
			assertThatExceptionOfType(UnsupportedOperationException.class)
				.isThrownBy(() -> other.admin().evict(this.key, true, null))
				.withMessageContaining("'unreliable' has no IdempotencyRecords");
		}
	}

}
