package dev.idempotency.sample;

import java.nio.charset.StandardCharsets;
import java.util.List;

import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.UseMainMethod;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.web.server.LocalServerPort;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.test.context.ActiveProfiles;
import tools.jackson.databind.JsonNode;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.sample.payment.PaymentCommand;
import dev.idempotency.sample.payment.PaymentTopic;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the service with the profile {@code redis}.
 */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT, useMainMethod = UseMainMethod.ALWAYS)
@ActiveProfiles("redis")
class RedisProfileTests {

	private static final String LEDGER = "ledger/payments";

	@LocalServerPort
	private int port;

	@Autowired
	private StringRedisTemplate redis;

	@Autowired
	private JdbcClient jdbc;

	@Autowired
	private KafkaTemplate<String, PaymentCommand> kafka;

	@Test
	void paymentsThatAreSentTwiceAreChargedOnce() {
		PaymentService service = new PaymentService(this.port);
		int keysBefore = this.redis.keys("idempotency:*").size();
		assertThat(service.store().at("/name").stringValue()).isEqualTo("redis");
		assertThat(service.store().at("/transactional").booleanValue()).isFalse();
		// The handler of one payment runs twice, and its first charge is rolled back.
		service.crash();
		service.order(200, 0.5);
		JsonNode after = service.awaitConsumption();
		assertThat(service.increase(after, "/protected/charges")).isEqualTo(200);
		assertThat(service.increase(after, "/protected/suppressed")).isEqualTo(100);
		assertThat(service.increase(after, "/gateway/calls")).isEqualTo(200);
		assertThat(service.increase(after, "/gateway/suppressed")).isEqualTo(100);
		assertThat(service.increase(after, "/unprotected/charges")).isGreaterThan(200);
		assertThat(service.increaseOfAmount(after, "/protected/amountCharged"))
			.isEqualByComparingTo(service.increaseOfAmount(after, "/amountRequested"));
		assertThat(service.increaseOfAmount(after, "/statements/amount"))
			.isEqualByComparingTo(service.increaseOfAmount(after, "/amountRequested"));
		assertThat(this.redis.keys("idempotency:*")).as("a key of the ledger, the gateway and the statements")
			.hasSize(keysBefore + 600);
		assertThat(tablesOfKeys()).isEmpty();
	}

	@Test
	void secondChargeIsNotOnTheStatement() {
		PaymentService service = new PaymentService(this.port);
		service.order(1, 0);
		service.awaitConsumption();
		PaymentCommand payment = newestPayment();
		// Simulates a crash after the charge and before the completion of its key.
		IdempotencyKey key = IdempotencyKey.of(LEDGER, payment.paymentId().toString());
		assertThat(this.redis.delete("idempotency:{" + key.id().toString().replace("-", "") + "}")).isTrue();
		ProducerRecord<String, PaymentCommand> message = new ProducerRecord<>(PaymentTopic.NAME, payment.account(),
				payment);
		message.headers().add("Idempotency-Key", payment.paymentId().toString().getBytes(StandardCharsets.UTF_8));
		this.kafka.send(message).join();
		JsonNode after = service.awaitConsumption();
		assertThat(service.increase(after, "/protected/charges")).isEqualTo(2);
		assertThat(service.increase(after, "/statements/deliveries")).isEqualTo(2);
		// The event has the key of the first one but another balance and entry, so it is
		// rejected and not suppressed.
		assertThat(service.increase(after, "/statements/suppressed")).isZero();
		assertThat(service.increase(after, "/statements/applied")).isOne();
		assertThat(service.increaseOfAmount(after, "/statements/amount")).isEqualByComparingTo(payment.amount());
	}

	private PaymentCommand newestPayment() {
		return this.jdbc.sql("select payment_id, account, amount from statement_line order by id desc limit 1")
			.query(PaymentCommand.class)
			.single();
	}

	// Without the tables of the outbox, which is always in the database of the ledger.
	private List<String> tablesOfKeys() {
		return this.jdbc.sql("select tablename from pg_tables where tablename like 'idempotency%'")
			.query(String.class)
			.list()
			.stream()
			.filter((table) -> !table.startsWith("idempotency_outbox"))
			.toList();
	}

}
