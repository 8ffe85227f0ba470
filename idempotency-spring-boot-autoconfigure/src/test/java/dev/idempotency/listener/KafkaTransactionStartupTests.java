package dev.idempotency.listener;

import javax.sql.DataSource;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.testsupport.Contexts;
import dev.idempotency.testsupport.Logs;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link ModeChoice} with containers that have a Kafka transaction.
 */
@Tag("promise-12")
class KafkaTransactionStartupTests {

	private final ApplicationContextRunner runner = Contexts.all()
		.withPropertyValues("spring.kafka.producer.transaction-id-prefix=tx")
		.withUserConfiguration(DatabaseTransactions.class);

	@Test
	void autoModeUsesLeasedModeWithAWarning() {
		try (Logs logs = new Logs()) {
			this.runner.withUserConfiguration(Auto.class).run((context) -> assertThat(context).hasNotFailed());
			assertThat(logs.messages("WARN")).singleElement()
				.asString()
				.contains("KafkaTransactionStartupTests.Auto.listen has a Kafka transaction in its container",
						"so it uses leased mode", "Set the mode to LEASED if that is intended");
			assertThat(logs.messages("INFO")).anyMatch((message) -> message.contains("mode LEASED"));
		}
	}

	@Test
	void explicitLeasedModeCausesNoWarning() {
		try (Logs logs = new Logs()) {
			this.runner.withUserConfiguration(Leased.class).run((context) -> assertThat(context).hasNotFailed());
			assertThat(logs.messages("WARN")).isEmpty();
		}
	}

	@Test
	void transactionalModeIsRefusedAndTheActionNamesBothAlternatives() {
		FailureAnalysis analysis = ListenerStartupTests.refusal(this.runner, Transactional.class);
		assertThat(analysis.getDescription()).contains("KafkaTransactionStartupTests.Transactional.listen",
				"is configured for transactional mode, but it has a Kafka transaction in its container",
				"so that its output could be lost");
		assertThat(analysis.getAction()).contains("Use leased mode, which completes after the Kafka transaction",
				"use a container factory without a Kafka transaction manager", "through the outbox");
	}

	// Spring Kafka would commit the offset of each
	// acknowledgment outside the transaction.
	@Test
	@Tag("promise-1")
	void immediateAcknowledgmentIsRefused() {
		FailureAnalysis analysis = ListenerStartupTests
			.refusal(this.runner.withPropertyValues("spring.kafka.listener.ack-mode=manual_immediate"), Leased.class);
		assertThat(analysis.getDescription()).contains("KafkaTransactionStartupTests.Leased.listen",
				"its container has a Kafka transaction and the ack mode MANUAL_IMMEDIATE");
		assertThat(analysis.getAction()).startsWith("Set the ack mode to BATCH or RECORD");
	}

	@Configuration(proxyBeanMethods = false)
	static class DatabaseTransactions {

		@Bean
		JdbcTransactionManager databaseTransactions(DataSource dataSource) {
			return new JdbcTransactionManager(dataSource);
		}

	}

	static class Auto {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	static class Leased {

		@Idempotent(mode = Mode.LEASED)
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	static class Transactional {

		@Idempotent(mode = Mode.TRANSACTIONAL)
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

}
