package dev.idempotency.actuate;

import java.util.Map;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.Status;

import dev.idempotency.StoreCircuit;
import dev.idempotency.test.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link IdempotencyStoreHealthIndicator}.
 */
@Tag("promise-11")
class IdempotencyStoreHealthIndicatorTests {

	private static TestDatabase database;

	private static TestDatabase gone;

	@BeforeAll
	static void createDatabases() {
		database = TestDatabase.create();
		gone = TestDatabase.create();
		gone.drop();
	}

	@AfterAll
	static void closeDatabases() {
		database.close();
		gone.close();
	}

	@Test
	void storeThatAnswersIsUp() {
		Health health = new IdempotencyStoreHealthIndicator(database.store(), StoreCircuit.ALWAYS_CLOSED).health();
		assertThat(health.getStatus()).isEqualTo(Status.UP);
		assertThat(health.getDetails()).isEqualTo(Map.of("store", "jdbc", "circuit", StoreCircuit.State.CLOSED));
	}

	@Test
	void storeWithoutItsDatabaseIsDown() {
		Health health = new IdempotencyStoreHealthIndicator(gone.store(), StoreCircuit.ALWAYS_CLOSED).health();
		assertThat(health.getStatus()).isEqualTo(Status.DOWN);
		assertThat(health.getDetails()).containsEntry("store", "jdbc").containsKey("error");
	}

	@Test
	void storeWithoutItsTableIsDown() {
		try (TestDatabase empty = TestDatabase.create()) {
			empty.jdbc().execute("DROP TABLE " + TestDatabase.TABLE);
			assertThat(
					new IdempotencyStoreHealthIndicator(empty.store(), StoreCircuit.ALWAYS_CLOSED).health().getStatus())
				.isEqualTo(Status.DOWN);
		}
	}

}
