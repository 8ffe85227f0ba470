package dev.idempotency.sample;

import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.UseMainMethod;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.web.server.LocalServerPort;
import org.springframework.test.context.ActiveProfiles;
import tools.jackson.databind.JsonNode;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the service with the profile {@code mariadb}.
 */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT, useMainMethod = UseMainMethod.ALWAYS)
@ActiveProfiles("mariadb")
class MariaDbProfileTests {

	@LocalServerPort
	private int port;

	@Test
	void paymentsThatAreSentTwiceAreChargedOnce() {
		PaymentService service = new PaymentService(this.port);
		assertThat(service.stores())
			.hasToString("[{\"name\":\"jdbc\",\"type\":\"jdbc\",\"product\":\"MariaDB\",\"transactional\":true}]");
		// The handler of one payment runs twice, and its first charge is rolled back.
		service.crash();
		service.order(200, 0.5);
		JsonNode after = service.awaitConsumption();
		assertThat(service.increase(after, "/protected/charges")).isEqualTo(200);
		assertThat(service.increase(after, "/protected/suppressed")).isEqualTo(100);
		assertThat(service.increase(after, "/gateway/calls")).isEqualTo(200);
		assertThat(service.increase(after, "/gateway/charges")).isEqualTo(200);
		assertThat(service.increase(after, "/unprotected/charges")).isGreaterThan(200);
		assertThat(service.increase(after, "/statements/applied")).isEqualTo(200);
		assertThat(service.increase(after, "/statements/outOfOrder")).isZero();
		assertThat(service.increaseOfAmount(after, "/protected/amountCharged"))
			.isEqualByComparingTo(service.increaseOfAmount(after, "/amountRequested"));
		assertThat(service.increaseOfAmount(after, "/statements/amount"))
			.isEqualByComparingTo(service.increaseOfAmount(after, "/amountRequested"));
		assertThat(service.reconciliation()).hasToString("{\"missing\":0,\"unknown\":0,\"doubled\":0}");
	}

}
