package dev.idempotency.listener;

import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.test.RecordingListener;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for listeners that claim the key of the next record together with the completion
 * of the current one.
 */
@Execution(ExecutionMode.CONCURRENT)
class ClaimAheadListenerTests {

	private static List<String> calls(String store, int claims, int completions) {
		return java.util.stream.Stream
			.concat(Collections.nCopies(claims, store + " CLAIM").stream(),
					Collections.nCopies(completions, store + " COMPLETE").stream())
			.toList();
	}

	@ParameterizedTest
	@ValueSource(strings = { "jdbc", "redis" })
	void newRecordsOfAPollCostOneRoundTripEachAndOneForTheFirst(String store) {
		try (BatchApp app = new BatchApp(Listeners.class, store.equals("redis") ? store : "leased")) {
			app.send("plain", "a b c d e f g h", "i j k l");
			app.start("plain");
			app.awaitDone("plain");
			RecordingListener recorded = app.listeners(RecordingListener.class);
			assertThat(recorded.storeCalls()).containsExactlyElementsOf(calls(store, 1, 12));
			assertThat(app.listeners(Listeners.class).handled).hasSize(12).doesNotHaveDuplicates();
			assertThat("abcdefghijkl".split(""))
				.allSatisfy((key) -> assertThat(app.record("plain", key).state()).isEqualTo(State.COMPLETED));
		}
	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		private final Queue<String> handled = new ConcurrentLinkedQueue<>();

		@Idempotent(scope = "${prefix}-plain")
		@KafkaListener(id = "${prefix}-plain", topics = "${prefix}-plain")
		void plain(String value) {
			this.handled.add(value);
		}

		@Bean
		static RecordingListener recording() {
			return new RecordingListener();
		}

	}

}
