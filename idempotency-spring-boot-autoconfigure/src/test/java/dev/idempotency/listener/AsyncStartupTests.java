package dev.idempotency.listener;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.kafka.annotation.KafkaHandler;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.messaging.Message;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.testsupport.Contexts;
import dev.idempotency.testsupport.Logs;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link ListenerChecks} and {@link ModeChoice} with asynchronous listeners.
 */
@Tag("promise-12")
class AsyncStartupTests {

	private final ApplicationContextRunner runner = Contexts.all();

	private final ApplicationContextRunner transactional = this.runner
		.withPropertyValues("spring.kafka.producer.transaction-id-prefix=tx");

	@Test
	void futureStartsInLeasedModeWithoutAWarning() {
		assertStarted(Futures.class);
	}

	@Test
	void monoStartsInLeasedModeWithoutAWarning() {
		assertStarted(Monos.class);
	}

	private void assertStarted(Class<?> listener) {
		try (Logs logs = new Logs()) {
			this.runner.withUserConfiguration(listener).run((context) -> assertThat(context).hasNotFailed());
			String name = "AsyncStartupTests." + listener.getSimpleName() + ".listen";
			assertThat(logs.messages("WARN")).noneMatch((message) -> message.contains(name));
			assertThat(logs.messages("INFO")).filteredOn((message) -> message.contains(name))
				.singleElement()
				.asString()
				.contains("mode LEASED");
		}
	}

	@Test
	void transactionalModeIsRefused() {
		assertRefused(this.runner, Transactional.class, "is configured for transactional mode, but it is asynchronous",
				"Use leased mode, or let the method return its result itself.");
	}

	@Test
	void containerWithKafkaTransactionIsRefused() {
		assertRefused(this.transactional, Futures.class,
				"it is asynchronous, but its container has a Kafka transaction",
				"Return the result itself, or use a container factory without a Kafka transaction manager.");
	}

	@Test
	void classWithOtherMethodsThatAreNotAsynchronousIsRefused() {
		FailureAnalysis analysis = ListenerStartupTests.refusal(this.runner, Mixed.class);
		assertThat(analysis.getDescription()).startsWith("The idempotent listener AsyncStartupTests.Mixed.")
			.contains("some methods of its listener class are asynchronous and others are not");
		assertThat(analysis.getAction()).contains("Let all of them return a CompletableFuture or a Mono, or none.");
	}

	@Test
	void completionStageIsRefused() {
		assertRefused(this.runner, Stages.class, "it returns a CompletionStage, which Spring Kafka does not wait for",
				"Return a CompletableFuture or a Mono.");
	}

	@Test
	void plainFutureIsRefused() {
		assertRefused(this.runner, PlainFutures.class, "it returns a Future, which Spring Kafka does not wait for",
				"Return a CompletableFuture or a Mono.");
	}

	@Test
	void fluxIsRefused() {
		assertRefused(this.runner, Fluxes.class, "it returns a Flux, which Spring Kafka does not wait for",
				"Return a CompletableFuture or a Mono.");
	}

	@Test
	void returnedMessageIsRefused() {
		assertRefused(this.runner, Messages.class,
				"it returns a Message, whose headers belong to the first delivery only", "Return the payload");
	}

	@Test
	void batchIsRefused() {
		assertRefused(this.runner, Batches.class, "it is an asynchronous batch listener",
				"Return the results themselves, or set 'batch' of @KafkaListener to \"false\".");
	}

	private static void assertRefused(ApplicationContextRunner runner, Class<?> listener, String problem,
			String action) {
		FailureAnalysis analysis = ListenerStartupTests.refusal(runner, listener);
		assertThat(analysis.getDescription())
			.startsWith("The idempotent listener AsyncStartupTests." + listener.getSimpleName() + ".listen ")
			.contains(problem);
		assertThat(analysis.getAction()).contains(action);
	}

	static class Futures {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		CompletableFuture<Void> listen(String value) {
			return CompletableFuture.completedFuture(null);
		}

	}

	static class Monos {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		Mono<String> listen(String value) {
			return Mono.just(value);
		}

	}

	static class Transactional {

		@Idempotent(mode = Mode.TRANSACTIONAL)
		@KafkaListener(topics = "topic", groupId = "group")
		CompletableFuture<Void> listen(String value) {
			return CompletableFuture.completedFuture(null);
		}

	}

	@Idempotent
	@KafkaListener(topics = "topic", groupId = "group")
	static class Mixed {

		@KafkaHandler
		CompletableFuture<Void> later(String value) {
			return CompletableFuture.completedFuture(null);
		}

		@KafkaHandler(isDefault = true)
		void now(Object value) {
		}

	}

	static class Stages {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		CompletionStage<String> listen(String value) {
			return CompletableFuture.completedStage(value);
		}

	}

	static class PlainFutures {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		Future<String> listen(String value) {
			return CompletableFuture.completedFuture(value);
		}

	}

	static class Fluxes {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		Flux<String> listen(String value) {
			return Flux.just(value);
		}

	}

	static class Messages {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		CompletableFuture<Message<String>> listen(Message<String> message) {
			return CompletableFuture.completedFuture(message);
		}

	}

	static class Batches {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group", batch = "true")
		CompletableFuture<Void> listen(List<String> values) {
			return CompletableFuture.completedFuture(null);
		}

	}

}
