package dev.idempotency.actuate;

import java.net.http.HttpResponse;
import java.util.UUID;

import io.micrometer.core.instrument.MeterRegistry;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;
import tools.jackson.databind.JsonNode;

import dev.idempotency.store.OffsetMark;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link OffsetsEndpoint} over HTTP.
 */
class OffsetsEndpointTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	// With the default properties.
	static EndpointApp reader;

	static EndpointApp writer;

	private final String topic = Servers.unique("topic");

	@BeforeAll
	static void start() {
		reader = EndpointApp.start(database);
		writer = EndpointApp.start(database, "access=unrestricted");
	}

	@AfterAll
	static void stop() {
		reader.close();
		writer.close();
	}

	private void raise(long offset) {
		OffsetMark mark = new OffsetMark("group/topic", this.topic, new UUID(1, 2), 3, offset);
		new TransactionTemplate(new JdbcTransactionManager(database.pool()))
			.executeWithoutResult((status) -> database.store().offsetMarks().orElseThrow().raise(mark, false));
	}

	private JsonNode mark() {
		HttpResponse<String> response = reader.get("offsets?limit=10000");
		assertThat(response.statusCode()).isEqualTo(200);
		return EndpointApp.json(response)
			.at("/stores/jdbc")
			.valueStream()
			.filter((mark) -> mark.path("topic").asString().equals(this.topic))
			.findFirst()
			.orElseThrow();
	}

	private String body(long next) {
		return "{\"scope\":\"group/topic\",\"topic\":\"" + this.topic + "\",\"partition\":3,\"next\":" + next + "}";
	}

	@Test
	void marksAreListed() {
		raise(41);
		assertThat(mark().propertyNames()).containsExactlyInAnyOrder("scope", "topic", "topicId", "partition", "offset",
				"updatedAt");
		assertThat(mark().path("scope").asString()).isEqualTo("group/topic");
		assertThat(mark().path("partition").asInt()).isEqualTo(3);
		assertThat(mark().path("offset").asLong()).isEqualTo(41);
	}

	@Test
	void markIsLoweredLoggedAndCounted() {
		raise(41);
		try (Logs logs = Logs.about(this.topic)) {
			assertThat(writer.post("offsets", body(50)).statusCode()).as("the mark is lower").isEqualTo(404);
			HttpResponse<String> lowered = writer.post("offsets", body(10));
			assertThat(lowered.statusCode()).isEqualTo(200);
			assertThat(EndpointApp.json(lowered).path("outcome").asString()).isEqualTo("DONE");
			assertThat(mark().path("offset").asLong()).isEqualTo(9);
			assertThat(logs.messages("WARN")).anyMatch((line) -> line.startsWith("Intervention: lower of the mark")
					&& line.contains("partition 3 of topic '" + this.topic + "'") && line.contains("offset 10"));
		}
		assertThat(writer.context()
			.getBean(MeterRegistry.class)
			.get("idempotency.endpoint.writes")
			.tags("operation", "lower", "outcome", "done")
			.counter()
			.count()).isPositive();
	}

	@Test
	void markIsNotLoweredByDefault() {
		raise(41);
		assertThat(reader.post("offsets", body(10)).statusCode()).isEqualTo(405);
		assertThat(mark().path("offset").asLong()).isEqualTo(41);
	}

	@Test
	void requestThatMakesNoSenseIsRefused() {
		assertThat(writer.post("offsets", body(-1)).statusCode()).isEqualTo(400);
		assertThat(writer.get("offsets?limit=0").statusCode()).isEqualTo(400);
		assertThat(writer.post("offsets", body(1).replace("}", ",\"store\":\"none\"}")).statusCode()).isEqualTo(400);
	}

}
