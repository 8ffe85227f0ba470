/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.outbox.OutboxRow;
import dev.idempotency.outbox.OutboxStore;
import dev.idempotency.outbox.OutboxStore.ClaimedRow;
import dev.idempotency.outbox.OutboxStore.DeadLetter;
import dev.idempotency.outbox.OutboxStore.RelayFailure;
import dev.idempotency.outbox.OutboxStore.Status;
import dev.idempotency.outbox.TimeOrderedUuid;
import dev.idempotency.testsupport.Servers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for {@link JdbcOutboxStore}.
 */
@ParameterizedClass
@MethodSource("databases")
class OutboxStoreTests {

	private static final String TABLE = "idempotency_outbox";

	private static final int ALL = 1000;

	@Parameter
	private String database;

	private HikariDataSource pool;

	private JdbcTemplate jdbc;

	private JdbcOutboxStore store;

	private TransactionTemplate transactions;

	static Stream<String> databases() {
		return Stream.of("postgresql", "h2", "mariadb");
	}

	@BeforeEach
	void create() {
		if (this.database.equals("h2")) {
			HikariConfig config = new HikariConfig();
			config.setJdbcUrl("jdbc:h2:mem:" + Servers.unique("outbox") + ";DB_CLOSE_DELAY=-1");
			this.pool = new HikariDataSource(config);
		}
		else if (this.database.equals("mariadb")) {
			// The tests below shift times by CURRENT_TIMESTAMP.
			String url = Servers.newMariaDb() + "&sessionVariables=time_zone='%2B00:00'";
			this.pool = Servers.mySqlPool(url.replace("%2B", "+"));
		}
		else {
			this.pool = Servers.pool(Servers.newDatabase());
		}
		this.jdbc = new JdbcTemplate(this.pool);
		this.transactions = new TransactionTemplate(new JdbcTransactionManager(this.pool));
		JdbcSchemaMigration.migrateOutbox(this.pool, this.pool, TABLE);
		JdbcSchemaValidation.validateOutbox(this.pool, TABLE, false, true);
		this.store = store(Duration.ofHours(1), false);
	}

	@AfterEach
	void close() {
		this.pool.close();
	}

	private JdbcOutboxStore store(Duration retention, boolean logged) {
		return new JdbcOutboxStore(this.pool, new JdbcTransactionManager(this.pool), TABLE, Duration.ofSeconds(2),
				retention, logged);
	}

	private void insert(OutboxRow... rows) {
		this.transactions.executeWithoutResult((status) -> this.store.insert(List.of(rows)));
	}

	private static OutboxRow row(String key, String payload) {
		return new OutboxRow(TimeOrderedUuid.next(), "topic",
				(key != null) ? key.getBytes(StandardCharsets.UTF_8) : null, payload.getBytes(StandardCharsets.UTF_8),
				List.of(), payload, "payment", "1", "charged");
	}

	private static List<String> payloads(OutboxStore.Claim claim) {
		return claim.rows().stream().map((claimed) -> claimed.row().idempotencyKey()).toList();
	}

	private static Set<Integer> keys(OutboxStore.Claim claim) {
		return payloads(claim).stream().map((payload) -> Integer.parseInt(payload) % 100).collect(Collectors.toSet());
	}

	private List<String> claimable() {
		try (OutboxStore.Claim claim = this.store.claim(ALL, Set.of())) {
			return payloads(claim);
		}
	}

	private void fail(ClaimedRow claimed, Duration retryAfter) {
		try (OutboxStore.Claim claim = this.store.claim(ALL, Set.of())) {
			claim.settle(List.of(), List
				.of(new RelayFailure(claimed, claimed.attempts() + 1, new IllegalStateException("no"), retryAfter)));
		}
	}

	private ClaimedRow first() {
		try (OutboxStore.Claim claim = this.store.claim(ALL, Set.of())) {
			return claim.rows().get(0);
		}
	}

	@Test
	void claimReturnsTheInsertedMessage() {
		OutboxRow row = row("a", "1");
		insert(row);
		ClaimedRow claimed = first();
		assertThat(claimed.row()).usingRecursiveComparison().isEqualTo(row);
		assertThat(claimed.attempts()).isZero();
		assertThat(claimed.age()).isBetween(Duration.ZERO, Duration.ofMinutes(1));
	}

	@Test
	void insertWithoutTransactionIsRefused() {
		assertThatIllegalStateException().isThrownBy(() -> this.store.insert(List.of(row("a", "1"))))
			.withMessageContaining("No transaction is active for the message ");
	}

	@Test
	void messagesOfAKeyAreInOneClaimInTheirOrder() {
		insert(IntStream.range(0, 200)
			.mapToObj((i) -> row("k" + i % 100, String.valueOf(i)))
			.toArray(OutboxRow[]::new));
		try (OutboxStore.Claim first = this.store.claim(ALL, Set.of());
				OutboxStore.Claim second = this.store.claim(ALL, Set.of())) {
			// H2 also locks the other lanes, so that the second claim is empty.
			assertThat(Collections.disjoint(keys(first), keys(second))).isTrue();
			assertThat(payloads(first)).hasSize(2 * keys(first).size());
			assertThat(payloads(first).stream().map(Integer::valueOf)).isSorted();
		}
	}

	@Test
	void messagesWithoutKeyAreDistributedOverLanes() {
		insert(IntStream.range(0, 500).mapToObj((i) -> row(null, String.valueOf(i))).toArray(OutboxRow[]::new));
		assertThat(this.jdbc.queryForObject("SELECT count(DISTINCT lane) FROM idempotency_outbox", Integer.class))
			.isGreaterThan(50);
	}

	@Test
	void keyIsNotClaimedTwiceAtTheSameTime() {
		insert(row("a", "1"), row("a", "2"));
		try (OutboxStore.Claim claim = this.store.claim(1, Set.of())) {
			assertThat(payloads(claim)).containsExactly("1");
			assertThat(claimable()).isEmpty();
		}
		assertThat(claimable()).containsExactly("1", "2");
	}

	@Test
	void publishedMessageIsNotClaimedAgain() {
		insert(row("a", "1"), row("a", "2"));
		try (OutboxStore.Claim claim = this.store.claim(ALL, Set.of())) {
			claim.settle(claim.rows().subList(0, 1), List.of());
		}
		assertThat(claimable()).containsExactly("2");
		assertThat(this.store.status().pending()).isEqualTo(1);
	}

	@Test
	void isolationOfTheConnectionIsRestored() throws SQLException {
		insert(row("a", "1"));
		try (Connection only = this.pool.getConnection()) {
			int before = Connection.TRANSACTION_SERIALIZABLE;
			only.setTransactionIsolation(before);
			DataSource dataSource = new SingleConnectionDataSource(only, true);
			JdbcOutboxStore sharing = new JdbcOutboxStore(dataSource, new JdbcTransactionManager(dataSource), TABLE,
					Duration.ofSeconds(2), Duration.ZERO, false);
			try (OutboxStore.Claim claim = sharing.claim(ALL, Set.of())) {
				// On PostgreSQL only the isolation of the transaction changes.
				assertThat(only.getTransactionIsolation())
					.isEqualTo(this.database.equals("postgresql") ? before : Connection.TRANSACTION_READ_COMMITTED);
				claim.settle(claim.rows(), List.of());
			}
			assertThat(only.getTransactionIsolation()).isEqualTo(before);
			assertThat(only.getAutoCommit()).isTrue();
		}
	}

	@Test
	void publishedMessageIsDeletedWhenTheRetentionIsZero() {
		insert(row("a", "1"));
		try (OutboxStore.Claim claim = store(Duration.ZERO, false).claim(ALL, Set.of())) {
			claim.settle(claim.rows(), List.of());
		}
		assertThat(this.jdbc.queryForObject("SELECT count(*) FROM idempotency_outbox", Integer.class)).isZero();
	}

	@Test
	void messageForChangeDataCaptureIsNotClaimed() {
		this.transactions
			.executeWithoutResult((status) -> store(Duration.ofHours(1), true).insert(List.of(row("a", "1"))));
		assertThat(claimable()).isEmpty();
		assertThat(this.store.status().pending()).isZero();
	}

	@Test
	void failedMessageBlocksOnlyItsKey() {
		insert(row("a", "1"), row("b", "2"), row("a", "3"));
		fail(first(), Duration.ofHours(1));
		insert(row("a", "4"));
		assertThat(claimable()).containsExactly("2");
	}

	@Test
	void failedMessageIsRetriedAfterItsDelay() {
		insert(row("a", "1"), row("a", "2"));
		fail(first(), Duration.ZERO);
		assertThat(claimable()).containsExactly("1", "2");
		assertThat(first().attempts()).isEqualTo(1);
	}

	@Test
	void failedMessageMayHaveALongKey() {
		byte[] key = new byte[10_000];
		new Random(1).nextBytes(key);
		OutboxRow row = new OutboxRow(TimeOrderedUuid.next(), "topic", key, null, List.of(), "1", "payment", "1",
				"charged");
		insert(row);
		fail(first(), Duration.ZERO);
		assertThat(first().attempts()).isEqualTo(1);
	}

	@Test
	void outboxWithoutItsLanesIsRefused() {
		this.jdbc.update("DELETE FROM idempotency_outbox_lane WHERE lane = 7");
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> JdbcSchemaValidation.validateOutbox(this.pool, TABLE, false, true))
			.withMessageContaining("does not have its 64 rows");
	}

	@Test
	void ageOfTheOldestMessageIsCorrectWithoutLanes() {
		insert(row("a", "1"));
		this.jdbc.update("UPDATE idempotency_outbox SET created_at = CURRENT_TIMESTAMP - INTERVAL '1' HOUR");
		this.jdbc.update("DELETE FROM idempotency_outbox_lane");
		assertThat(this.store.status().oldest()).isGreaterThan(Duration.ofMinutes(59));
	}

	@Test
	void messageForChangeDataCaptureCannotBeRetried() {
		assertThatExceptionOfType(UnsupportedOperationException.class)
			.isThrownBy(() -> store(Duration.ZERO, true).retry(UUID.randomUUID()));
	}

	@Test
	void negativeRetentionIsRefused() {
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> store(Duration.ofSeconds(-1), false));
	}

	private JdbcOutboxStore skipping() {
		return new JdbcOutboxStore(this.pool, new JdbcTransactionManager(this.pool), TABLE, Duration.ofSeconds(2),
				Duration.ofHours(1), false, OutboxStore.DeadLetterPolicy.SKIP);
	}

	@Test
	@Tag("promise-15")
	void deadLetterBlocksLaterMessagesOfItsKeyWhenTheOrderIsKept() {
		insert(row("a", "1"), row("b", "2"), row("a", "3"));
		fail(first(), null);
		assertThat(claimable()).containsExactly("2");
		insert(row("a", "4"), row(null, "5"));
		this.jdbc.update("UPDATE idempotency_outbox SET created_at = CURRENT_TIMESTAMP - INTERVAL '1' HOUR WHERE "
				+ "idempotency_key = '3'");
		try (OutboxStore.Claim claim = this.store.claim(ALL, Set.of())) {
			assertThat(payloads(claim)).containsExactlyInAnyOrder("2", "5");
			claim.settle(List.of(), List.of());
		}
		Status status = this.store.status();
		assertThat(status.blocked()).isEqualTo(2);
		assertThat(status.deadLetters()).isOne();
		assertThat(status.pending()).isEqualTo(2);
		assertThat(status.oldest()).as("including blocked messages").isGreaterThan(Duration.ofMinutes(59));
		assertThat(this.store.deadLetters(10)).singleElement()
			.satisfies((shown) -> assertThat(shown.idempotencyKey()).isEqualTo("1"));
	}

	@Test
	@Tag("promise-15")
	void blockedMessagesFollowTheRetriedDeadLetterInOrder() {
		insert(row("a", "1"), row("a", "2"), row("a", "3"));
		UUID refused = first().row().id();
		fail(first(), null);
		assertThat(claimable()).isEmpty();
		assertThat(this.store.retry(refused)).isTrue();
		insert(row("a", "4"));
		for (int i = 0; i < 3; i++) {
			assertThat(claimable()).startsWith("1").isSorted();
		}
		assertThat(claimable()).containsExactly("1", "2", "3", "4");
		fail(first(), null);
		assertThat(claimable()).as("it failed again").isEmpty();
		assertThat(this.store.status().blocked()).isEqualTo(3);
	}

	@Test
	void discardUnblocksTheKey() {
		insert(row("a", "1"), row("a", "2"), row("a", "3"));
		UUID refused = first().row().id();
		fail(first(), null);
		assertThat(claimable()).isEmpty();
		UUID waiting = this.jdbc.queryForObject("SELECT id FROM idempotency_outbox WHERE idempotency_key = '2'",
				(row, number) -> this.database.equals("mariadb") ? MySqlTypes.INSTANCE.uuid(row, "id")
						: row.getObject("id", UUID.class));
		assertThat(this.store.discard(waiting)).as("it is only blocked").isFalse();
		assertThat(this.store.retry(waiting)).isFalse();
		assertThat(this.store.discard(refused)).isTrue();
		assertThat(claimable()).containsExactly("2", "3");
		assertThat(this.store.status().blocked()).isZero();
	}

	@Test
	void blockedMessagesArePublishedWhenTheOrderIsNoLongerKept() {
		insert(row("a", "1"), row("a", "2"));
		fail(first(), null);
		assertThat(claimable()).isEmpty();
		JdbcOutboxStore skipping = skipping();
		Awaitility.await().untilAsserted(() -> {
			try (OutboxStore.Claim claim = skipping.claim(ALL, Set.of())) {
				assertThat(payloads(claim)).containsExactly("2");
			}
		});
	}

	@Test
	void deadLettersOfATopicAreRetriedAndDiscardedInTheirOrder() {
		insert(row("a", "1"), row("b", "2"), row("c", "3"), row("d", "4"), row("d", "5"));
		try (OutboxStore.Claim claim = this.store.claim(ALL, Set.of())) {
			claim.settle(List.of(),
					claim.rows()
						.stream()
						.limit(4)
						.map((claimed) -> new RelayFailure(claimed, 1, new IllegalStateException("no"), null))
						.toList());
		}
		assertThat(claimable()).isEmpty();
		assertThat(this.store.retry("other", 10)).isZero();
		assertThat(this.store.retry("topic", 2)).isEqualTo(2);
		assertThat(claimable()).containsExactly("1", "2");
		assertThat(this.store.discard("topic", 1)).isOne();
		assertThat(this.store.discard("topic", 10)).isOne();
		assertThat(claimable()).containsExactly("1", "2", "5");
		assertThatExceptionOfType(UnsupportedOperationException.class)
			.isThrownBy(() -> store(Duration.ZERO, true).retry("topic", 1));
	}

	@Test
	void messageOfALaneThatDoesNotExistIsRefused() {
		insert(row("a", "1"));
		assertThatExceptionOfType(DataAccessException.class)
			.isThrownBy(() -> this.jdbc.update("UPDATE idempotency_outbox SET lane = 64"));
	}

	@Test
	void deadLetterDoesNotBlockItsKeyWhenTheOrderIsNotKept() {
		OutboxRow bad = row("a", "1");
		insert(bad, row("a", "2"));
		fail(first(), null);
		try (OutboxStore.Claim claim = skipping().claim(ALL, Set.of())) {
			assertThat(payloads(claim)).containsExactly("2");
		}
		assertThat(this.store.status().deadLetters()).isEqualTo(1);
		DeadLetter shown = this.store.deadLetters(10).get(0);
		assertThat(shown.id()).isEqualTo(bad.id());
		assertThat(shown.attempts()).isEqualTo(1);
		assertThat(shown.failure().type()).isEqualTo(IllegalStateException.class.getName());
	}

	@Test
	void deadLetterCanBeRetriedOrDiscarded() {
		insert(row("a", "1"), row("b", "2"));
		UUID retried = first().row().id();
		fail(first(), null);
		assertThat(this.store.discard(UUID.randomUUID())).isFalse();
		assertThat(this.store.retry(retried)).isTrue();
		assertThat(this.store.retry(retried)).isFalse();
		assertThat(claimable()).containsExactly("1", "2");
		assertThat(this.store.discard(retried)).as("no dead letter any more").isFalse();
		fail(first(), null);
		assertThat(this.store.discard(retried)).isTrue();
		assertThat(this.store.status().deadLetters()).isZero();
	}

	@Test
	void statusContainsTheAgeOfTheOldestMessage() {
		insert(row("a", "1"), row("b", "2"), row("c", "3"));
		this.jdbc.update("UPDATE idempotency_outbox SET created_at = CURRENT_TIMESTAMP - INTERVAL '1' HOUR WHERE "
				+ "idempotency_key = '2'");
		assertThat(this.store.status().oldest()).isBetween(Duration.ofMinutes(59), Duration.ofMinutes(61));
		assertThat(this.store.status().pending()).isEqualTo(3);
	}

	@Test
	void cleanupDeletesMessagesAfterTheirRetention() {
		insert(row("a", "1"), row("b", "2"), row("c", "3"));
		try (OutboxStore.Claim claim = this.store.claim(ALL, Set.of())) {
			claim.settle(claim.rows().subList(0, 2), List.of());
		}
		this.jdbc.update("UPDATE idempotency_outbox SET published_at = CURRENT_TIMESTAMP - INTERVAL '2' HOUR WHERE "
				+ "idempotency_key = '1'");
		assertThat(this.store.expired().backlogAge()).isBetween(Duration.ofMinutes(59), Duration.ofMinutes(61));
		assertThat(this.store.expired().deleteExpired(10, Duration.ZERO)).isEqualTo(1);
		assertThat(this.jdbc.queryForList("SELECT idempotency_key FROM idempotency_outbox ORDER BY position",
				String.class))
			.containsExactly("2", "3");
		assertThat(this.store.expired().table()).isEqualTo("idempotency_outbox");
	}

}
