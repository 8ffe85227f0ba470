package dev.idempotency.actuate;

import java.util.UUID;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import tools.jackson.databind.JsonNode;

import dev.idempotency.store.ParkedPartition;
import dev.idempotency.store.ParkedRecord;
import dev.idempotency.store.ParkedRecords;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link ParkedEndpoint} over HTTP.
 */
class ParkedEndpointTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	static EndpointApp app;

	@BeforeAll
	static void start() {
		app = EndpointApp.start(database);
		ParkedRecords parked = database.store().parkedRecords().orElseThrow();
		ParkedPartition partition = new ParkedPartition("group/topic", "topic", 3);
		UUID owner = UUID.randomUUID();
		parked.takeOver(partition, owner);
		for (int offset = 7; offset < 9; offset++) {
			parked.park(new ParkedRecord(partition, offset, 1, 0, new byte[] { 1 }, new byte[0], new byte[] { 2 }),
					owner);
		}
	}

	@AfterAll
	static void stop() {
		app.close();
	}

	@Test
	void parkedRecordsAreListedWithoutTheirContent() {
		JsonNode store = EndpointApp.json(app.get("parked")).at("/stores/jdbc");
		assertThat(store.at("/scopes/0/scope").asString()).isEqualTo("group/topic");
		assertThat(store.at("/scopes/0/records").asInt()).isEqualTo(2);
		assertThat(store.at("/records")).hasSize(2);
		assertThat(store.at("/records/0").propertyNames()).containsExactlyInAnyOrder("scope", "topic", "partition",
				"offset", "attempts", "parkedAt");
		assertThat(store.at("/records/0/offset").asLong()).isEqualTo(7);
		assertThat(EndpointApp.json(app.get("parked?limit=1")).at("/stores/jdbc/records")).hasSize(1);
	}

	@Test
	void limitOutOfRangeIsRefused() {
		assertThat(app.get("parked?limit=0").statusCode()).isEqualTo(400);
	}

}
