package dev.idempotency.listener;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ShareKafkaListenerContainerFactory;
import org.springframework.kafka.core.DefaultShareConsumerFactory;
import org.springframework.messaging.Message;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;

import dev.idempotency.Idempotent;
import dev.idempotency.test.Contexts;
import dev.idempotency.test.Servers;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link ListenerChecks}: what cannot be protected does not start.
 */
@Tag("promise-12")
class ListenerStartupTests {

	private final ApplicationContextRunner runner = Contexts.all();

	@Test
	void privateMethodIsRefused() {
		assertRefused(PrivateMethod.class, "the method is private, so a proxy cannot intercept it",
				"Make the method at least package-private");
	}

	@Test
	void finalMethodIsRefused() {
		assertRefused(FinalMethod.class, "the method is final, so a proxy cannot intercept it",
				"Make the method at least package-private, not static and not final.");
	}

	@Test
	void finalClassIsRefusedBySpring() {
		this.runner.withUserConfiguration(FinalClass.class)
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.hasMessageContaining("Cannot subclass final class"));
	}

	@Test
	void futureThatSpringKafkaDoesNotWaitForIsRefused() {
		assertRefused(Futures.class, "it returns a Future, which Spring Kafka does not wait for",
				"Return a CompletableFuture or a Mono.");
	}

	@Test
	void futureInContainerWithKafkaTransactionIsRefused() {
		assertRefused(this.runner.withPropertyValues("spring.kafka.producer.transaction-id-prefix=tx"),
				CompletableFutures.class, "its container has a Kafka transaction, which ends when the method returns",
				"Return the result itself, or use a container factory without a Kafka transaction manager.");
	}

	@Test
	void returnedMessageIsRefused() {
		assertRefused(Messages.class, "it returns a Message, whose headers belong to the first delivery only",
				"Return the payload");
	}

	@Test
	void asyncMethodIsRefused() {
		assertRefused(AsyncMethod.class, "@Async takes it off the thread of the container", "Remove @Async.");
	}

	@Test
	void shareConsumerIsRefused() {
		assertRefused(Share.class, "its container is a ShareKafkaMessageListenerContainer",
				"Use a container of a consumer group.");
	}

	private void assertRefused(Class<?> listener, String problem, String action) {
		assertRefused(this.runner, listener, problem, action);
	}

	private static void assertRefused(ApplicationContextRunner runner, Class<?> listener, String problem,
			String action) {
		FailureAnalysis analysis = refusal(runner, listener);
		assertThat(analysis.getDescription())
			.startsWith("The idempotent listener ListenerStartupTests." + listener.getSimpleName()
					+ ".listen cannot be protected: ")
			.contains(problem);
		assertThat(analysis.getAction()).contains(action);
	}

	static FailureAnalysis refusal(ApplicationContextRunner runner, Class<?>... configuration) {
		FailureAnalysis[] analysis = new FailureAnalysis[1];
		runner.withUserConfiguration(configuration)
			.run((context) -> analysis[0] = Contexts.analyze(context.getStartupFailure()));
		return analysis[0];
	}

	static class PrivateMethod {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		private void listen(String value) {
		}

	}

	static class FinalMethod {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		final void listen(String value) {
		}

	}

	static final class FinalClass {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	static class Futures {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		Future<String> listen(String value) {
			return CompletableFuture.completedFuture(value);
		}

	}

	static class CompletableFutures {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		CompletableFuture<Void> listen(String value) {
			return CompletableFuture.completedFuture(null);
		}

	}

	static class Messages {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		Message<String> listen(Message<String> message) {
			return message;
		}

	}

	@EnableAsync
	static class AsyncMethod {

		@Async
		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	static class Share {

		@Bean
		static ShareKafkaListenerContainerFactory<String, String> share() {
			return new ShareKafkaListenerContainerFactory<>(new DefaultShareConsumerFactory<>(
					Map.of("bootstrap.servers", Servers.kafka().getBrokersAsString())));
		}

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group", containerFactory = "share")
		void listen(String value) {
		}

	}

}
