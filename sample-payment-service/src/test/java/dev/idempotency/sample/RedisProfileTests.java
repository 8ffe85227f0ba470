package dev.idempotency.sample;

import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.UseMainMethod;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.web.server.LocalServerPort;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.test.context.ActiveProfiles;
import tools.jackson.databind.JsonNode;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests of the service with the profile {@code redis}.
 */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT, useMainMethod = UseMainMethod.ALWAYS)
@ActiveProfiles("redis")
class RedisProfileTests {

	@LocalServerPort
	private int port;

	@Autowired
	private StringRedisTemplate redis;

	@Autowired
	private JdbcClient jdbc;

	@Test
	void paymentsThatAreToldTwiceAreChargedOnce() {
		PaymentService service = new PaymentService(this.port);
		assertThat(service.store().at("/name").stringValue()).isEqualTo("redis");
		assertThat(service.store().at("/transactional").booleanValue()).isFalse();
		// One payment of them runs twice, and its first charge is rolled back.
		service.crash();
		service.order(200, 0.5);
		JsonNode after = service.awaitConsumption();
		assertThat(service.increase(after, "/protected/charges")).isEqualTo(200);
		assertThat(service.increase(after, "/protected/suppressed")).isEqualTo(100);
		assertThat(service.increase(after, "/gateway/calls")).isEqualTo(200);
		assertThat(service.increase(after, "/gateway/suppressed")).isEqualTo(100);
		assertThat(service.increase(after, "/unprotected/charges")).isGreaterThan(200);
		assertThat(after.at("/protected/amountCharged").decimalValue())
			.isEqualByComparingTo(after.at("/amountRequested").decimalValue());
		assertThat(this.redis.keys("idempotency:*")).as("a key of the ledger and one of the gateway").hasSize(400);
		assertThat(tables("idempotency%")).isZero();
	}

	private long tables(String name) {
		return this.jdbc.sql("select count(*) from pg_tables where tablename like :name")
			.param("name", name)
			.query(Long.class)
			.single();
	}

}
