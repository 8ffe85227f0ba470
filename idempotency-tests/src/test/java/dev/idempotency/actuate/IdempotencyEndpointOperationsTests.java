/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.actuate;

import java.security.Principal;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.Show;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.Mode;
import dev.idempotency.actuate.IdempotencyEndpoint.PendingDescriptor;
import dev.idempotency.actuate.IdempotencyEndpoint.RecordDescriptor;
import dev.idempotency.actuate.IdempotencyEndpoint.RecordList;
import dev.idempotency.actuate.WebResponses.Problem;
import dev.idempotency.memory.InMemoryIdempotencyStore;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.IdempotencyAdmin;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.Observers;
import dev.idempotency.template.ResultCodec;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.UnreliableStore;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for the operations of {@link IdempotencyEndpoint} without HTTP.
 */
class IdempotencyEndpointOperationsTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private final IdempotencyKey key = TestDatabase.newKey();

	private @Nullable IdempotencyTemplate template;

	@AfterEach
	void close() {
		if (this.template != null) {
			this.template.close();
		}
	}

	private IdempotencyEndpoint endpoint(IdempotencyStore store, Show show, String... roles) {
		this.template = new IdempotencyTemplate(store, new Settings(null, false, Observers.none()));
		IdempotencyAdmin admin = this.template.admin();
		return new IdempotencyEndpoint(Map.of(admin.name(), admin), List::of, show, Set.of(roles));
	}

	private static WebEndpointResponse<?> view(IdempotencyEndpoint endpoint, String view) {
		return WebResponses.of(() -> endpoint.view(view, null, null, null, null, null, SecurityContext.NONE));
	}

	private static WebEndpointResponse<?> evict(IdempotencyEndpoint endpoint, @Nullable Boolean force,
			SecurityContext context) {
		return WebResponses.of(() -> endpoint.change("evict", "a", "b", force, null, null, null, null, null, null, null,
				null, context));
	}

	private static WebEndpointResponse<?> evictAll(IdempotencyEndpoint endpoint, SecurityContext context) {
		return WebResponses.of(() -> endpoint.change("evict-all", "a", null, null, null, null, null, true, false, null,
				null, null, context));
	}

	@ParameterizedTest
	@ValueSource(strings = { "stuck", "failed" })
	void storeWithoutRecordsIsNamed(String view) {
		IdempotencyEndpoint endpoint = endpoint(new UnreliableStore(database.store()), Show.ALWAYS);
		assertThat(view(endpoint, view).getStatus()).isEqualTo(501);
		assertThat(((Problem) WebResponses.of(() -> endpoint.overview(null)).getBody()).error())
			.contains("'unreliable' has no IdempotencyRecords");
		assertThat(evict(endpoint, true, SecurityContext.NONE).getStatus()).isEqualTo(501);
		assertThat(evictAll(endpoint, SecurityContext.NONE).getStatus()).isEqualTo(501);
	}

	@Test
	void storeWithoutRecordsFindsAKey() {
		IdempotencyEndpoint endpoint = endpoint(new UnreliableStore(database.store()), Show.ALWAYS);
		one(database.store()).claim(TestDatabase.request(this.key));
		assertThat(endpoint.view("record", this.key.scope(), this.key.value(), null, null, null, SecurityContext.NONE))
			.isInstanceOf(RecordDescriptor.class);
		assertThat(view(endpoint, "offsets").getStatus()).isEqualTo(501);
	}

	@ParameterizedTest
	@CsvSource({ "alice,operator,operator,true", "alice,,,true", "alice,guest,operator,false", ",,,false" })
	void messageIsShownToAuthorizedUsersOnly(@Nullable String name, @Nullable String role, @Nullable String required,
			boolean shown) {
		InMemoryIdempotencyStore store = new InMemoryIdempotencyStore();
		ClaimRequest request = TestDatabase.request(this.key);
		one(store).claim(request);
		one(store).fail(request, new Failure("Refused", "card 4711"));
		IdempotencyEndpoint endpoint = (required != null) ? endpoint(store, Show.WHEN_AUTHORIZED, required)
				: endpoint(store, Show.WHEN_AUTHORIZED);
		RecordList list = (RecordList) endpoint.view("failed", null, null, null, null, null, new User(name, role));
		RecordDescriptor record = list.records().get(0);
		assertThat(record.error().type()).isEqualTo("Refused");
		assertThat(record.error().message()).isEqualTo(shown ? "card 4711" : null);
	}

	@Test
	void userOfAWriteIsLogged() {
		IdempotencyEndpoint endpoint = endpoint(database.store(), Show.NEVER);
		try (Logs logs = new Logs()) {
			evict(endpoint, null, new User("alice", null));
			evictAll(endpoint, new User("alice", null));
			assertThat(logs.messages("INFO")).satisfiesExactly(
					(one) -> assertThat(one).contains("'b' in scope 'a' by 'alice'"),
					(all) -> assertThat(all).contains("evict of records in scope 'a' by 'alice'"));
		}
	}

	@Test
	@Tag("promise-6")
	void pendingCompletionIsInTheListOfStuckKeysUntilItIsSettled() {
		IdempotencyEndpoint endpoint = endpoint(database.store(), Show.NEVER);
		runWhile(() -> {
			database.endLease(this.key);
			database.jdbc().execute("""
					CREATE FUNCTION refuse() RETURNS trigger AS 'BEGIN RAISE EXCEPTION ''no''; END' LANGUAGE plpgsql;
					CREATE TRIGGER refuse BEFORE UPDATE ON idempotency_record EXECUTE FUNCTION refuse()""");
		});
		RecordList list = (RecordList) view(endpoint, "stuck").getBody();
		assertThat(list.records()).singleElement()
			.satisfies((record) -> assertThat(record.completionPending()).isTrue());
		assertThat(list.completionsPending()).extracting(PendingDescriptor::key).containsExactly(this.key.value());
		database.jdbc().execute("DROP FUNCTION refuse() CASCADE");
		this.template.settle();
		list = (RecordList) view(endpoint, "stuck").getBody();
		assertThat(list.records()).isEmpty();
		assertThat(list.completionsPending()).isEmpty();
	}

	@Test
	@Tag("promise-11")
	void pendingCompletionIsShownWhileTheStoreRefusesEveryCall() {
		IdempotencyEndpoint endpoint = endpoint(database.store(), Show.NEVER);
		runWhile(() -> database.jdbc().execute("ALTER TABLE idempotency_record RENAME TO away"));
		WebEndpointResponse<?> stuck = view(endpoint, "stuck");
		WebEndpointResponse<?> failed = view(endpoint, "failed");
		database.jdbc().execute("ALTER TABLE away RENAME TO idempotency_record");
		assertThat(stuck.getStatus()).isEqualTo(503);
		assertThat(((RecordList) stuck.getBody()).error()).isNotBlank();
		assertThat(((RecordList) stuck.getBody()).completionsPending()).extracting(PendingDescriptor::key)
			.containsExactly(this.key.value());
		assertThat(failed.getStatus()).isEqualTo(503);
	}

	private void runWhile(Runnable refusal) {
		assertThatExceptionOfType(IdempotencyStoreRefusedException.class).isThrownBy(
				() -> this.template.execute(TestDatabase.operation(this.key, Mode.LEASED), ResultCodec.none(), () -> {
					refusal.run();
					return null;
				}));
	}

	/**
	 * A user.
	 *
	 * @param name the name, {@code null} if not authenticated
	 * @param role the role, {@code null} if there is none
	 */
	private record User(@Nullable String name, @Nullable String role) implements SecurityContext {

		@Override
		public @Nullable Principal getPrincipal() {
			return (this.name != null) ? () -> this.name : null;
		}

		@Override
		public boolean isUserInRole(String candidate) {
			return candidate.equals(this.role);
		}

	}

}
