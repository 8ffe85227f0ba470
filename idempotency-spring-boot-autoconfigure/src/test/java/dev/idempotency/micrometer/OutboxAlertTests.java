package dev.idempotency.micrometer;

import java.io.IOException;
import java.time.Duration;

import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.Test;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.outbox.Outbox;
import dev.idempotency.outbox.OutboxStore;
import dev.idempotency.test.StoppableKafka;
import dev.idempotency.test.TestApp;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the alert rules of the outbox: they fire when they should.
 */
class OutboxAlertTests {

	private static boolean holds(Query rule, ConfigurableApplicationContext context) {
		PublishedMeters meters = PublishedMeters.of(context.getBean(PrometheusMeterRegistry.class).scrape());
		assertThat(meters.names()).contains(rule.selectors().get(0).meter());
		return rule.holds(meters);
	}

	private static double gauge(ConfigurableApplicationContext context, String name) {
		return context.getBean(PrometheusMeterRegistry.class).get(name).gauge().value();
	}

	private static void send(ConfigurableApplicationContext context, String topic) {
		new TransactionTemplate(context.getBean(PlatformTransactionManager.class))
			.executeWithoutResult((status) -> context.getBean(Outbox.class).send(topic, "account-1", "text"));
	}

	private static ConditionFactory await() {
		return Awaitility.await().atMost(Duration.ofSeconds(60));
	}

	@Test
	void messagesThatABrokerDoesNotTakeAreStuckUntilItIsBack() throws IOException {
		String written = AlertRules.query("IdempotencyOutboxStuck").text();
		assertThat(written).endsWith(" > 60");
		// Nobody waits for a minute here.
		Query stuck = Query.parse(written.replace(" > 60", " > 1"));
		try (StoppableKafka kafka = StoppableKafka.create();
				ConfigurableApplicationContext context = TestApp.of()
					.with("idempotency.outbox.enabled", true)
					.with("idempotency.outbox.send-timeout", "2s")
					.with("idempotency.outbox.max-back-off", "500ms")
					.with("spring.kafka.bootstrap-servers", kafka.bootstrapServers())
					.run()) {
			kafka.createTopic("payments", 1);
			send(context, "payments");
			OutboxStore store = context.getBean(OutboxStore.class);
			await().until(() -> store.status().pending() == 0);
			await().untilAsserted(() -> assertThat(holds(stuck, context)).isFalse());
			kafka.stop();
			send(context, "payments");
			await().until(() -> holds(stuck, context));
			double age = gauge(context, "idempotency.outbox.age");
			assertThat(gauge(context, "idempotency.outbox.pending")).isEqualTo(1);
			send(context, "payments");
			await().until(() -> gauge(context, "idempotency.outbox.pending") == 2);
			assertThat(gauge(context, "idempotency.outbox.age")).isGreaterThan(age);
			assertThat(holds(stuck, context)).isTrue();
			kafka.start();
			await().until(() -> !holds(stuck, context));
			assertThat(store.status().pending()).isZero();
			assertThat(holds(AlertRules.query("IdempotencyOutboxSetAside"), context)).isFalse();
		}
	}

	@Test
	void messagesThatNobodyPublishesAreStuck() throws IOException {
		Query stuck = Query.parse(AlertRules.query("IdempotencyOutboxStuck").text().replace(" > 60", " > 1"));
		try (ConfigurableApplicationContext context = TestApp.of()
			.with("idempotency.outbox.enabled", true)
			.with("idempotency.outbox.relay", "none")
			.run()) {
			await().untilAsserted(() -> assertThat(holds(stuck, context)).isFalse());
			send(context, "payments");
			await().until(() -> holds(stuck, context));
		}
	}

	@Test
	void messageThatIsSetAsideIsReportedUntilItIsGone() throws IOException {
		Query setAside = AlertRules.query("IdempotencyOutboxSetAside");
		try (ConfigurableApplicationContext context = TestApp.of()
			.with("idempotency.outbox.enabled", true)
			.with("idempotency.outbox.max-attempts", 1)
			.run()) {
			await().untilAsserted(() -> assertThat(holds(setAside, context)).isFalse());
			send(context, "not/valid");
			await().until(() -> holds(setAside, context));
			OutboxStore store = context.getBean(OutboxStore.class);
			store.setAside(10).forEach((message) -> store.discard(message.id()));
			await().until(() -> !holds(setAside, context));
		}
	}

}
