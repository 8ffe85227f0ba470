package dev.idempotency.redis;

import java.time.Duration;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

import dev.idempotency.test.Logs;
import dev.idempotency.test.RedisProcess;
import dev.idempotency.test.TestRedis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link EvictionWarning}.
 */
@Tag("promise-12")
@Isolated("It reads the log")
class EvictionWarningTests {

	@Test
	void serverThatEvictsIsWarnedOfOnce() {
		RedisProcess server = RedisProcess.create("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru");
		try (Logs logs = new Logs(); TestRedis redis = TestRedis.create(server)) {
			redis.store().ping();
			await().atMost(Duration.ofSeconds(5))
				.untilAsserted(() -> assertThat(logs.messages("WARN")).singleElement()
					.asString()
					.startsWith("Redis has the memory policy 'allkeys-lru', so it forgets idempotency records")
					.endsWith("set 'maxmemory-policy' to 'noeviction'"));
		}
		finally {
			server.stop();
		}
	}

	@Test
	void serverThatRefusesWritesInsteadIsNotWarnedOf() {
		RedisProcess server = RedisProcess.create("--maxmemory", "100mb", "--maxmemory-policy", "noeviction");
		try (Logs logs = new Logs(); TestRedis redis = TestRedis.create(server)) {
			EvictionWarning.check(redis.commands().getStatefulConnection().async()).toCompletableFuture().join();
			assertThat(logs.messages("WARN")).isEmpty();
		}
		finally {
			server.stop();
		}
	}

}
