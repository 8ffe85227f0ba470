package dev.idempotency.jdbc;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the texts that {@link JdbcIdempotencyStore} stores for operators. Its
 * contract tests the rest.
 */
class JdbcIdempotencyStoreTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	@ParameterizedTest
	@ValueSource(strings = { "it's; DROP TABLE idempotency_record --", "\"q\" \\ $1 ? :name {d}", "\uD83D\uDE80 Zoë",
			"a%b_c" })
	void unusualCharactersAreStoredUnchanged(String text) {
		assertKept(IdempotencyKey.of(text, text + Servers.unique(".")));
	}

	@Test
	void longestKeyIsStoredUnchanged() {
		assertKept(IdempotencyKey.of("\uFFE5".repeat(512), "\uFFE5".repeat(512)));
	}

	private static void assertKept(IdempotencyKey key) {
		database.store().claim(TestDatabase.request(key));
		assertThat(database.jdbc()
			.queryForObject("SELECT key FROM idempotency_record WHERE scope = ? AND id = ?", String.class, key.scope(),
					key.id()))
			.isEqualTo(key.value());
	}

}
