package dev.idempotency.redis;

import java.nio.charset.StandardCharsets;
import java.time.Duration;

import io.lettuce.core.ScriptOutputType;
import org.junit.jupiter.api.Test;

import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.store.IdempotencyRecords.Overview;
import dev.idempotency.test.RedisProcess;
import dev.idempotency.test.TestDatabase;
import dev.idempotency.test.TestRedis;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for a server with more records than a call may read.
 */
class RecordWalkTests {

	private static final int MORE = 50_000;

	@Test
	void scanOfALargeServerEndsInTimeAndReportsThatItIsIncomplete() {
		RedisProcess server = RedisProcess.create();
		try (TestRedis redis = TestRedis.create(server)) {
			ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
			redis.store().claim(request);
			redis.store().complete(request, null);
			fill(redis, redis.value(request.key()));
			long start = System.nanoTime();
			Overview overview = redis.store().records().orElseThrow().overview();
			assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(TestRedis.TIMEOUT);
			assertThat(overview.complete()).isFalse();
			assertThat(overview.estimate()).isEqualTo(IdempotencyRecords.WINDOW + MORE + 1L);
			assertThat(overview.scopes()).singleElement()
				.satisfies((scope) -> assertThat(scope.completed()).isBetween(1L, IdempotencyRecords.WINDOW + 5000L));
			assertThat(redis.store().records().orElseThrow().failed(10, null).complete()).isFalse();
		}
		finally {
			server.stop();
		}
	}

	private static void fill(TestRedis redis, String value) {
		redis.commands()
			.eval("for i = 1, tonumber(ARGV[1]) do redis.call('SET', KEYS[1] .. '{' .. i .. '}', ARGV[2]) end",
					ScriptOutputType.STATUS, new byte[][] { TestRedis.PREFIX.getBytes(StandardCharsets.US_ASCII) },
					Integer.toString(IdempotencyRecords.WINDOW + MORE).getBytes(StandardCharsets.US_ASCII),
					value.getBytes(StandardCharsets.ISO_8859_1));
	}

}
