package dev.idempotency.sample.ledger;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.UUID;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.UseMainMethod;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.kafka.core.KafkaTemplate;

import dev.idempotency.sample.payment.PaymentCommand;
import dev.idempotency.sample.payment.PaymentTopic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * The two tests that every idempotent listener should have. The page
 * {@code docs/testing.md} explains them.
 */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT, useMainMethod = UseMainMethod.ALWAYS,
		properties = "spring.application.name=duplicate-tests")
class DuplicateTests {

	private static final String LISTENER = "LedgerListener.charge";

	@Autowired
	private KafkaTemplate<String, PaymentCommand> kafka;

	@Autowired
	private JdbcClient jdbc;

	@Autowired
	private MeterRegistry meters;

	@Test
	void paymentIsChargedOnceWhenItIsSentAgain() {
		PaymentCommand payment = new PaymentCommand(UUID.randomUUID(), "ACC-01", BigDecimal.TEN);
		double before = settled();
		send(payment, 0);
		awaitSettled(before + 1);
		send(payment, 0);
		awaitSettled(before + 2);
		assertThat(charges(payment)).isOne();
	}

	@Test
	void paymentIsChargedOnceWhenCopiesArriveAtTheSameTime() {
		PaymentCommand payment = new PaymentCommand(UUID.randomUUID(), "ACC-01", BigDecimal.TEN);
		double before = settled();
		for (int copy = 0; copy < 12; copy++) {
			send(payment, copy % 6);
		}
		awaitSettled(before + 12);
		assertThat(charges(payment)).isOne();
	}

	private void send(PaymentCommand payment, int partition) {
		ProducerRecord<String, PaymentCommand> message = new ProducerRecord<>(PaymentTopic.NAME, partition,
				payment.account(), payment);
		message.headers().add("Idempotency-Key", payment.paymentId().toString().getBytes(StandardCharsets.UTF_8));
		this.kafka.send(message);
	}

	private void awaitSettled(double count) {
		await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> assertThat(settled()).isEqualTo(count));
	}

	// Without deliveries that were paused because another one was in progress.
	private double settled() {
		return this.meters.find("idempotency.process")
			.timers()
			.stream()
			.filter((timer) -> timer.getId().getTag("listener").endsWith(LISTENER))
			.filter((timer) -> !"in_progress".equals(timer.getId().getTag("outcome")))
			.mapToLong(Timer::count)
			.sum();
	}

	private long charges(PaymentCommand payment) {
		return this.jdbc.sql("select count(*) from ledger_entry where ledger = 'ledger' and payment_id = :id")
			.param("id", payment.paymentId())
			.query(Long.class)
			.single();
	}

	@Test
	void documentationShowsThisCode() throws IOException {
		String code = Files.readString(Path.of("src/test/java/dev/idempotency/sample/ledger/DuplicateTests.java"))
			.replaceAll("\\s+", " ");
		String page = Files.readString(Path.of("../docs/testing.md"));
		String shown = page.substring(page.indexOf("```java") + 7, page.lastIndexOf("```"));
		for (String method : shown.split("\n\n")) {
			assertThat(code).contains(method.trim().replaceAll("\\s+", " "));
		}
	}

}
