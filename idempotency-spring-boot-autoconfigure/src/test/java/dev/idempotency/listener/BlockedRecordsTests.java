package dev.idempotency.listener;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.TimeGauge;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.ResultCodec;
import dev.idempotency.template.TransactionBoundary;
import dev.idempotency.test.Logs;
import dev.idempotency.test.RecordingListener;
import dev.idempotency.test.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link BlockedRecords}: a record that waits is visible.
 */
@Execution(ExecutionMode.CONCURRENT)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class BlockedRecordsTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private BatchApp app;

	@BeforeAll
	void start() {
		this.app = new BatchApp(Listeners.class, "leased");
	}

	@AfterAll
	void stop() {
		this.app.close();
	}

	@ParameterizedTest
	@ValueSource(strings = { "single", "batch", "async" })
	void ageOfABlockedRecordEndsWhenItIsProcessed(String name) {
		ClaimRequest owner = hold(name);
		this.app.send(name, "a b c");
		this.app.start(name);
		TimeGauge age = age(name);
		await().until(() -> age.value(TimeUnit.SECONDS) > 1);
		this.app.store().complete(owner, null);
		this.app.awaitDone(name);
		assertThat(age.value(TimeUnit.SECONDS)).isZero();
	}

	@Test
	void ageEndsWhenTheContainerStops() {
		hold("stopped");
		this.app.send("stopped", "a b c");
		this.app.start("stopped");
		TimeGauge age = age("stopped");
		await().until(() -> age.value(TimeUnit.SECONDS) > 0);
		this.app.stop("stopped");
		assertThat(age.value(TimeUnit.SECONDS)).isZero();
	}

	private ClaimRequest hold(String name) {
		return this.app.hold(name, "b", Duration.ofMinutes(5));
	}

	private TimeGauge age(String name) {
		MeterRegistry registry = this.app.listeners(Listeners.class).registry;
		return await().until(() -> registry.find("idempotency.blocked.age")
			.tag("listener", "BlockedRecordsTests.Listeners." + name)
			.timeGauge(), (gauge) -> gauge != null);
	}

	@Test
	void recordThatWaitsIsLoggedOncePerInterval() {
		IdempotencyKey key = TestDatabase.newKey();
		database.store().claim(TestDatabase.request(key));
		try (IdempotencyTemplate template = new IdempotencyTemplate(database.store(),
				new Settings(null, false, List.of())); Logs logs = Logs.about("BlockedRecordsTests.pay")) {
			ListenerSettings settings = new ListenerSettings("BlockedRecordsTests.pay", Mode.LEASED,
					TransactionBoundary.DEFAULT, TestDatabase.LEASE, Duration.ofHours(1), null, ResultCodec.none(),
					template, TestDatabase.TIMEOUT, new FinalFailures(List.of()), new RecordingListener());
			BlockedRecords records = new BlockedRecords(Duration.ofSeconds(1));
			ConsumerRecord<String, String> record = new ConsumerRecord<>("topic", 3, 17, null, "secret");
			OperationInProgressException reason = new OperationInProgressException("in progress", Duration.ZERO);
			await().pollInterval(Duration.ofMillis(20)).until(() -> {
				records.blocked(record, key, reason, settings);
				return !logs.messages("WARN").isEmpty();
			});
			records.blocked(record, key, reason, settings);
			assertThat(logs.messages("WARN")).singleElement()
				.asString()
				.contains("has waited for 1 s at topic topic, partition 3, offset 17, key '" + key.value() + "'",
						"state of the key is IN_PROGRESS, its attempt is 1, its fencing token is 1",
						"the lease of its owner ends at")
				.doesNotContain("secret");
			await().pollInterval(Duration.ofMillis(20)).until(() -> {
				records.blocked(record, null, new IdempotencyStoreUnavailableException("no answer", null), settings);
				return logs.messages("WARN").size() == 2;
			});
			assertThat(logs.messages("WARN").get(1)).endsWith("offset 17: no answer");
			records.revoked(List.of(new TopicPartition("topic", 3)));
			records.blocked(record, key, reason, settings);
			assertThat(logs.messages("WARN")).hasSize(2);
		}
	}

	static class Listeners {

		final MeterRegistry registry;

		Listeners(MeterRegistry registry) {
			this.registry = registry;
		}

		@Idempotent(scope = "${prefix}-single")
		@KafkaListener(id = "${prefix}-single", topics = "${prefix}-single", groupId = "${prefix}-single")
		void single(String value) {
		}

		@Idempotent(scope = "${prefix}-stopped")
		@KafkaListener(id = "${prefix}-stopped", topics = "${prefix}-stopped", groupId = "${prefix}-stopped")
		void stopped(String value) {
		}

		@Idempotent(scope = "${prefix}-batch")
		@KafkaListener(id = "${prefix}-batch", topics = "${prefix}-batch", groupId = "${prefix}-batch", batch = "true")
		void batch(List<String> values) {
		}

		@Idempotent(scope = "${prefix}-async", mode = Mode.LEASED)
		@KafkaListener(id = "${prefix}-async", topics = "${prefix}-async", groupId = "${prefix}-async")
		CompletableFuture<Void> async(String value) {
			return CompletableFuture.completedFuture(null);
		}

	}

}
