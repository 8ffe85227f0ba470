package dev.idempotency.sample;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.UseMainMethod;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.web.server.LocalServerPort;
import org.springframework.context.ApplicationContext;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import tools.jackson.databind.JsonNode;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the service with its embedded servers.
 */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT, useMainMethod = UseMainMethod.ALWAYS)
class SamplePaymentApplicationTests {

	@LocalServerPort
	private int port;

	@Autowired
	private ApplicationContext context;

	private PaymentService service;

	@BeforeEach
	void readFigures() {
		this.service = new PaymentService(this.port);
	}

	@Test
	void redisIsNotUsedByDefault() {
		assertThat(this.context.getBeanNamesForType(RedisConnectionFactory.class)).isEmpty();
		assertThat(this.service.stores())
			.hasToString("[{\"name\":\"jdbc\",\"type\":\"jdbc\",\"product\":\"PostgreSQL\",\"transactional\":true}]");
	}

	@Test
	void paymentsThatAreSentTwiceAreChargedOnce() {
		this.service.order(200, 0.5);
		JsonNode after = this.service.awaitConsumption();
		assertThat(this.service.increase(after, "/paymentsRequested")).isEqualTo(200);
		assertThat(this.service.increase(after, "/messagesSent")).isEqualTo(300);
		assertThat(this.service.increase(after, "/protected/charges")).isEqualTo(200);
		assertThat(this.service.increase(after, "/protected/suppressed")).isEqualTo(100);
		assertThat(this.service.increase(after, "/gateway/calls")).isEqualTo(200);
		assertThat(this.service.increase(after, "/unprotected/charges")).isGreaterThan(200);
		assertThat(after.at("/protected/amountCharged").decimalValue())
			.isEqualByComparingTo(after.at("/amountRequested").decimalValue());
		assertThat(after.at("/unprotected/amountCharged").decimalValue())
			.isGreaterThan(after.at("/amountRequested").decimalValue());
	}

	@Test
	void paymentIsChargedOnceWhenItsHandlerFailsMidway() {
		this.service.crash();
		this.service.order(20, 0);
		JsonNode after = this.service.awaitConsumption();
		assertThat(this.service.increase(after, "/protected/deliveries")).isGreaterThan(20);
		assertThat(this.service.increase(after, "/protected/charges")).isEqualTo(20);
		assertThat(after.at("/protected/amountCharged").decimalValue())
			.isEqualByComparingTo(after.at("/amountRequested").decimalValue());
	}

}
