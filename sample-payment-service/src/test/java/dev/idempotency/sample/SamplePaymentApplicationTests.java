package dev.idempotency.sample;

import java.time.Duration;
import java.util.Map;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.UseMainMethod;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.web.server.LocalServerPort;
import org.springframework.core.ParameterizedTypeReference;
import org.springframework.web.client.RestClient;
import tools.jackson.databind.JsonNode;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests of the whole service on its embedded servers.
 */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT, useMainMethod = UseMainMethod.ALWAYS)
class SamplePaymentApplicationTests {

	@LocalServerPort
	private int port;

	private RestClient service;

	private JsonNode before;

	@BeforeEach
	void readFigures() {
		this.service = RestClient.create("http://localhost:" + this.port);
		this.before = summary();
	}

	@Test
	void paymentsThatAreToldTwiceAreChargedOnce() {
		order(200, 0.5);
		JsonNode after = awaitConsumption();
		assertThat(increase(after, "/paymentsRequested")).isEqualTo(200);
		assertThat(increase(after, "/messagesSent")).isEqualTo(300);
		assertThat(increase(after, "/protected/charges")).isEqualTo(200);
		assertThat(increase(after, "/protected/suppressed")).isEqualTo(100);
		assertThat(increase(after, "/gateway/calls")).isEqualTo(200);
		assertThat(increase(after, "/unprotected/charges")).isGreaterThan(200);
		assertThat(after.at("/protected/amountCharged").decimalValue())
			.isEqualByComparingTo(after.at("/amountRequested").decimalValue());
		assertThat(after.at("/unprotected/amountCharged").decimalValue())
			.isGreaterThan(after.at("/amountRequested").decimalValue());
	}

	@Test
	void paymentWhoseHandlerCrashesMidwayIsChargedOnce() {
		this.service.post().uri("/api/crash").retrieve().toBodilessEntity();
		order(20, 0);
		JsonNode after = awaitConsumption();
		assertThat(increase(after, "/protected/deliveries")).isGreaterThan(20);
		assertThat(increase(after, "/protected/charges")).isEqualTo(20);
		assertThat(after.at("/protected/amountCharged").decimalValue())
			.isEqualByComparingTo(after.at("/amountRequested").decimalValue());
	}

	private void order(int count, double duplicateRate) {
		this.service.post()
			.uri("/api/payments")
			.body(Map.of("count", count, "duplicateRate", duplicateRate))
			.retrieve()
			.toBodilessEntity();
	}

	private JsonNode awaitConsumption() {
		Awaitility.await()
			.atMost(Duration.ofSeconds(60))
			.untilAsserted(() -> assertThat(backlog().values()).containsOnly(0L));
		return summary();
	}

	private Map<String, Long> backlog() {
		return this.service.get().uri("/api/backlog").retrieve().body(new ParameterizedTypeReference<>() {
		});
	}

	private JsonNode summary() {
		return this.service.get().uri("/api/summary").retrieve().body(JsonNode.class);
	}

	private long increase(JsonNode after, String figure) {
		return after.at(figure).longValue() - this.before.at(figure).longValue();
	}

}
