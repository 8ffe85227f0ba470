package dev.idempotency.jdbc;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import net.ttddyy.dsproxy.support.ProxyDataSourceBuilder;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.TimeOrderedUuid;
import dev.idempotency.outbox.OutboxRow;
import dev.idempotency.test.Servers;
import dev.idempotency.test.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for a relay that is frozen while it reads. The server has not sent all of the
 * answer then: its session is active, not idle.
 */
@Tag("promise-1")
class OutboxFrozenTests {

	private static final TableName TABLE = TableName.of("idempotency_outbox");

	private static final int MEGABYTE = 1 << 20;

	@RegisterExtension
	TestDatabase database = TestDatabase.create();

	@AfterEach
	void thaw() {
		StallingSocketFactory.thaw();
	}

	// More than the buffers of both kernels hold.
	static List<OutboxRow> largeRows(String topic) {
		Random random = new Random(1);
		return IntStream.range(0, 16).mapToObj((i) -> {
			byte[] payload = new byte[MEGABYTE];
			random.nextBytes(payload);
			return new OutboxRow(TimeOrderedUuid.next(), topic, ("key" + i).getBytes(StandardCharsets.UTF_8), payload,
					List.of(), "id", "a", "1", "b");
		}).toList();
	}

	@Test
	void lanesAreFreeAgainWhenAReaderReadsNoMore() throws InterruptedException {
		JdbcSchemaMigration.migrateOutbox(this.database.pool(), TABLE);
		try (HikariDataSource pool = Servers
			.pool(this.database.url() + "?socketFactory=" + StallingSocketFactory.class.getName())) {
			// The limits are those of a relay, but seconds instead of minutes.
			DataSource impatient = ProxyDataSourceBuilder.create(pool)
				.queryTransformer((query) -> query.getQuery().replace("'180000'", "'2000'").replace("'60s'", "'2s'"))
				.build();
			JdbcOutboxStore store = store(impatient);
			JdbcOutboxStore sender = store(this.database.pool());
			new TransactionTemplate(new JdbcTransactionManager(this.database.pool()))
				.executeWithoutResult((status) -> sender.insert(largeRows("topic")));
			StallingSocketFactory.stallAfter(MEGABYTE, false);
			Thread frozen = new Thread(() -> store.claim(100).close());
			frozen.setUncaughtExceptionHandler((thread, error) -> {
			});
			frozen.start();
			Awaitility.await().untilAsserted(() -> assertThat(freeLanes()).isLessThan(OutboxSql.LANES));
			Awaitility.await()
				.atMost(Duration.ofSeconds(15))
				.untilAsserted(() -> assertThat(freeLanes()).isEqualTo(OutboxSql.LANES));
			StallingSocketFactory.thaw();
			frozen.join();
		}
	}

	private static JdbcOutboxStore store(DataSource dataSource) {
		return new JdbcOutboxStore(dataSource, new JdbcTransactionManager(dataSource), TABLE, Duration.ofSeconds(20),
				Duration.ofHours(1), false);
	}

	private int freeLanes() {
		return this.database.jdbc()
			.queryForList("SELECT lane FROM idempotency_outbox_lane FOR UPDATE SKIP LOCKED")
			.size();
	}

}
