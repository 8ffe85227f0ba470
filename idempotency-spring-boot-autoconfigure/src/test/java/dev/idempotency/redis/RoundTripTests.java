package dev.idempotency.redis;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyTemplate;
import dev.idempotency.Mode;
import dev.idempotency.TemplateSettings;
import dev.idempotency.test.RedisProcess;
import dev.idempotency.test.TestDatabase;
import dev.idempotency.test.TestRedis;
import dev.idempotency.test.TextCodec;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the number of commands that protection costs.
 */
class RoundTripTests {

	private static final Pattern SCRIPTS = Pattern.compile("cmdstat_(?:evalsha|eval):calls=(\\d+)");

	// One of its own: what others do would be counted.
	private static RedisProcess server;

	private static TestRedis redis;

	private static IdempotencyTemplate template;

	private final IdempotencyKey key = TestDatabase.newKey();

	@BeforeAll
	static void startServer() {
		server = RedisProcess.create();
		redis = TestRedis.create(server);
		template = new IdempotencyTemplate(redis.store(), new TemplateSettings(null, false, List.of()));
		run(TestDatabase.newKey());
	}

	@AfterAll
	static void stopServer() {
		redis.close();
		server.stop();
	}

	private static void run(IdempotencyKey key) {
		template.execute(TestDatabase.operation(key, Mode.LEASED), new TextCodec(), () -> "done");
	}

	@Test
	void newRecordCostsTwoRoundTrips() {
		assertThat(count(() -> run(this.key))).isEqualTo(2);
	}

	@Test
	void duplicateCostsOneRoundTrip() {
		run(this.key);
		assertThat(count(() -> run(this.key))).isOne();
	}

	private static long count(Runnable action) {
		long before = scripts();
		action.run();
		return scripts() - before;
	}

	// What a script calls is counted under its own name.
	private static long scripts() {
		Matcher matcher = SCRIPTS.matcher(redis.commands().info("commandstats"));
		return matcher.results().mapToLong((result) -> Long.parseLong(result.group(1))).sum();
	}

}
