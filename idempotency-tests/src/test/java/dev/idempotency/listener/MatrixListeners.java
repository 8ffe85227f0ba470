package dev.idempotency.listener;

import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BiFunction;

import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.BackOff;
import org.springframework.kafka.annotation.KafkaHandler;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.RetryableTopic;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.messaging.handler.annotation.SendTo;
import reactor.core.publisher.Mono;

import dev.idempotency.Idempotent;

/**
 * The listeners of {@link ListenerMatrixTests}. Each of them replies with a description
 * of its run.
 */
final class MatrixListeners {

	private MatrixListeners() {
	}

	/**
	 * The runs of the listeners.
	 */
	static class Runs implements BiFunction<String, String, String> {

		private final Map<String, Queue<String>> runs = new ConcurrentHashMap<>();

		String run(String shape, String value) {
			Queue<String> all = this.runs.computeIfAbsent(shape, (name) -> new ConcurrentLinkedQueue<>());
			all.add(value);
			return value + " " + all.size();
		}

		@Override
		public String apply(String shape, String value) {
			return run(shape, value);
		}

		List<String> of(String shape) {
			return List.copyOf(this.runs.getOrDefault(shape, new ConcurrentLinkedQueue<>()));
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Plain {

		private final Runs runs;

		Plain(Runs runs) {
			this.runs = runs;
		}

		@Idempotent
		@SendTo("${prefix}-record-out")
		@KafkaListener(topics = "${prefix}-record", groupId = "${prefix}-record")
		String record(String value) {
			return this.runs.run("record", value);
		}

		@Idempotent
		@SendTo("${prefix}-batch-out")
		@KafkaListener(topics = "${prefix}-batch", groupId = "${prefix}-batch", batch = "true")
		List<String> batch(List<String> values) {
			return values.stream().map((value) -> this.runs.run("batch", value)).toList();
		}

	}

	@Configuration(proxyBeanMethods = false)
	@KafkaListener(topics = "${prefix}-class", groupId = "${prefix}-class")
	static class Handlers {

		private final Runs runs;

		Handlers(Runs runs) {
			this.runs = runs;
		}

		@Idempotent
		@KafkaHandler(isDefault = true)
		@SendTo("${prefix}-class-out")
		String handle(String value) {
			return this.runs.run("class", value);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Retried {

		private final Runs runs;

		Retried(Runs runs) {
			this.runs = runs;
		}

		// The first attempt for each value fails.
		@Idempotent
		@RetryableTopic(attempts = "2", backOff = @BackOff(delay = 100))
		@KafkaListener(topics = "${prefix}-retried", groupId = "${prefix}-retried")
		void retried(String value) {
			if (this.runs.of("first attempt").contains(value)) {
				this.runs.run("retried", value);
				return;
			}
			this.runs.run("first attempt", value);
			throw new IllegalStateException("first attempt");
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Manual {

		private final Runs runs;

		Manual(Runs runs) {
			this.runs = runs;
		}

		@Idempotent
		@KafkaListener(topics = "${prefix}-manual", groupId = "${prefix}-manual", containerFactory = "manualFactory",
				batch = "true")
		void manual(List<String> values, Acknowledgment acknowledgment) {
			values.forEach((value) -> this.runs.run("manual", value));
			acknowledgment.acknowledge();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Async {

		private final Runs runs;

		Async(Runs runs) {
			this.runs = runs;
		}

		@Idempotent
		@SendTo("${prefix}-future-out")
		@KafkaListener(topics = "${prefix}-future", groupId = "${prefix}-future")
		CompletableFuture<String> future(String value) {
			return CompletableFuture.supplyAsync(() -> this.runs.run("future", value));
		}

		@Idempotent
		@SendTo("${prefix}-mono-out")
		@KafkaListener(topics = "${prefix}-mono", groupId = "${prefix}-mono")
		Mono<String> mono(String value) {
			return Mono.fromSupplier(() -> this.runs.run("mono", value));
		}

	}

}
