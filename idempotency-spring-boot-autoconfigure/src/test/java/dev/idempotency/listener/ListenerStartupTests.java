package dev.idempotency.listener;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ShareKafkaListenerContainerFactory;
import org.springframework.kafka.core.DefaultShareConsumerFactory;
import org.springframework.messaging.Message;
import org.springframework.messaging.handler.annotation.SendTo;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;

import dev.idempotency.Idempotent;
import dev.idempotency.testsupport.Contexts;
import dev.idempotency.testsupport.Servers;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link ListenerChecks}: a listener that cannot be protected does not start.
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
				"Make the method at least package-private, not static and not final. In Kotlin, declare it 'open', or "
						+ "use the kotlin-spring plugin.");
	}

	@ParameterizedTest
	@ValueSource(classes = { FinalClass.class, FinalClassWithInterface.class })
	void finalClassIsRefused(Class<?> listener) {
		assertRefused(listener, "its class is final, so a proxy cannot extend it",
				"Remove 'final' from the class. In Kotlin, declare the class and its listener methods 'open', or use the "
						+ "kotlin-spring plugin.");
	}

	@Test
	void finalClassWithAnInterfaceStartsWithProxiesOfInterfaces() {
		this.runner.withPropertyValues("spring.aop.proxy-target-class=false")
			.withUserConfiguration(FinalClassWithInterface.class)
			.run((context) -> assertThat(context).hasNotFailed());
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

	@ParameterizedTest
	@ValueSource(classes = { Interfaces.class, AbstractClasses.class, Unconstructibles.class, FutureInterfaces.class,
			OptionalInterfaces.class })
	@Tag("promise-8")
	void resultTypeThatCannotBeReadBackIsRefused(Class<?> listener) {
		FailureAnalysis analysis = refusal(this.runner, listener);
		assertThat(analysis.getDescription())
			.startsWith("The idempotent listener ListenerStartupTests." + listener.getSimpleName() + ".listen returns ")
			.contains("ListenerStartupTests$", ", which can be stored but not read back for a duplicate: ",
					"Cannot construct instance of `" + ListenerStartupTests.class.getName() + "$");
		assertThat(analysis.getAction()).startsWith("Return a class or record that can be read back");
	}

	@Test
	@Tag("promise-8")
	void listenersWhoseResultsCanBeReadBackStart() {
		this.runner.withUserConfiguration(Readables.class).run((context) -> assertThat(context).hasNotFailed());
	}

	@Test
	void asyncMethodIsRefused() {
		assertRefused(AsyncMethod.class, "@Async moves it to another thread", "Remove @Async.");
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

	interface Listener {

		void listen(String value);

	}

	static final class FinalClassWithInterface implements Listener {

		@Override
		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		public void listen(String value) {
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

	interface Answer {

		String text();

	}

	abstract static class AbstractAnswer {

		public String text = "";

	}

	static final class UnconstructibleAnswer {

		public final String text;

		UnconstructibleAnswer(String first, String second) {
			this.text = first + second;
		}

	}

	record Receipt(String text) {

	}

	record Page<T>(List<T> elements) {

	}

	static class Interfaces {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		Answer listen(String value) {
			return () -> value;
		}

	}

	static class AbstractClasses {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		AbstractAnswer listen(String value) {
			return new AbstractAnswer() {

			};
		}

	}

	static class Unconstructibles {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		UnconstructibleAnswer listen(String value) {
			return new UnconstructibleAnswer(value, value);
		}

	}

	static class FutureInterfaces {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		CompletableFuture<Answer> listen(String value) {
			return CompletableFuture.completedFuture(() -> value);
		}

	}

	static class OptionalInterfaces {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		Optional<Answer> listen(String value) {
			return Optional.of(() -> value);
		}

	}

	static class Readables {

		@Idempotent
		@KafkaListener(topics = "record", groupId = "group")
		Receipt listenForRecord(String value) {
			return new Receipt(value);
		}

		@Idempotent
		@KafkaListener(topics = "list", groupId = "group")
		List<Receipt> listenForList(String value) {
			return List.of(new Receipt(value));
		}

		@Idempotent
		@KafkaListener(topics = "optional", groupId = "group")
		Optional<Receipt> listenForOptional(String value) {
			return Optional.of(new Receipt(value));
		}

		@Idempotent
		@KafkaListener(topics = "generic", groupId = "group")
		Page<Receipt> listenForGeneric(String value) {
			return new Page<>(List.of(new Receipt(value)));
		}

		@Idempotent
		@KafkaListener(topics = "map", groupId = "group")
		Map<String, Receipt> listenForMap(String value) {
			return Map.of(value, new Receipt(value));
		}

		@Idempotent
		@KafkaListener(topics = "future", groupId = "group")
		CompletableFuture<Receipt> listenForFuture(String value) {
			return CompletableFuture.completedFuture(new Receipt(value));
		}

		@Idempotent
		@SendTo("replies")
		@KafkaListener(topics = "text", groupId = "group")
		String listenForText(String value) {
			return value;
		}

		@Idempotent
		@SendTo("replies")
		@KafkaListener(topics = "number", groupId = "group")
		long listenForNumber(String value) {
			return 1;
		}

		@Idempotent
		@SendTo("replies")
		@KafkaListener(topics = "bytes", groupId = "group")
		byte[] listenForBytes(String value) {
			return new byte[0];
		}

		@Idempotent
		@SendTo("replies")
		@KafkaListener(topics = "anything", groupId = "group")
		Object listenForAnything(String value) {
			return value;
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
