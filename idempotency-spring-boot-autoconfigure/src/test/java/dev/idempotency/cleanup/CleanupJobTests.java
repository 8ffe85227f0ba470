package dev.idempotency.cleanup;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import dev.idempotency.ClaimRequest;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyListener;
import dev.idempotency.test.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link CleanupJob}.
 */
class CleanupJobTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private final List<String> events = new CopyOnWriteArrayList<>();

	private final List<Integer> batches = new CopyOnWriteArrayList<>();

	private final CleanupJob job = job(Duration.ofHours(1));

	@BeforeEach
	void clear() {
		database.jdbc().execute("TRUNCATE " + TestDatabase.TABLE);
	}

	@AfterEach
	void stop() {
		this.job.stop();
	}

	private CleanupJob job(Duration interval) {
		return new CleanupJob(new CountedBatches(), interval, 10, new IdempotencyListener() {

			@Override
			public void cleanedUp(String table, int deleted) {
				CleanupJobTests.this.events.add(table + " " + deleted);
			}

		});
	}

	private static IdempotencyKey completed() {
		ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
		database.store().claim(request);
		database.store().complete(request, null);
		return request.key();
	}

	private static List<IdempotencyKey> expired(int count) {
		List<IdempotencyKey> keys = new ArrayList<>();
		for (int i = 0; i < count; i++) {
			keys.add(completed());
			database.endRetention(keys.get(i));
		}
		return keys;
	}

	@Test
	void expiredRecordsAreDeleted() {
		IdempotencyKey key = expired(1).get(0);
		assertThat(this.job.runOnce()).isOne();
		assertThat(database.store().find(key)).isEmpty();
	}

	@Test
	void batchesAreDeletedUntilOneIsNotFull() {
		expired(25);
		assertThat(this.job.runOnce()).isEqualTo(25);
		assertThat(this.batches).containsExactly(10, 10, 5);
	}

	@Test
	void listenerIsToldTheSumOfARun() {
		expired(12);
		this.job.runOnce();
		assertThat(this.events).containsExactly("idempotency_record 12");
	}

	@Test
	void listenerIsNotToldWhenNothingWasDeleted() {
		this.job.runOnce();
		assertThat(this.events).isEmpty();
	}

	@Test
	void startedJobCleansByItself() {
		CleanupJob frequent = job(Duration.ofMillis(50));
		frequent.start();
		try {
			expired(1);
			await().atMost(Duration.ofSeconds(5)).until(() -> !this.events.isEmpty());
			expired(1);
			await().atMost(Duration.ofSeconds(5)).until(() -> this.events.size() > 1);
		}
		finally {
			frequent.stop();
		}
	}

	@Test
	void stoppedJobDeletesNothing() {
		expired(1);
		this.job.start();
		this.job.stop();
		assertThat(this.job.isRunning()).isFalse();
		assertThat(this.job.runOnce()).isZero();
	}

	private final class CountedBatches implements ExpiredRecords {

		@Override
		public String table() {
			return database.store().table();
		}

		@Override
		public int deleteExpired(int limit) {
			int deleted = database.store().deleteExpired(limit);
			CleanupJobTests.this.batches.add(deleted);
			return deleted;
		}

	}

}
