/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.kafka.annotation.KafkaHandler;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.RetryableTopic;
import org.springframework.kafka.annotation.TopicPartition;
import org.springframework.kafka.listener.AbstractConsumerSeekAware;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.util.ClassUtils;
import reactor.core.publisher.Mono;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.listener.RefusedListeners.Listen;
import dev.idempotency.testsupport.Contexts;
import dev.idempotency.testsupport.Logs;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@code ListenerChecks}, {@code OffsetChoice} and {@code ModeChoice}: a
 * listener that cannot be protected does not start.
 */
@Tag("promise-12")
class ListenerStartTests {

	private static final String TRANSACTIONS = "spring.kafka.producer.transaction-id-prefix=tx";

	private static final String IMMEDIATE = "spring.kafka.listener.ack-mode=manual_immediate";

	@ParameterizedTest
	@CsvSource(delimiter = '|', quoteCharacter = '"',
			textBlock = """
					PrivateMethod           | the method is private, so a proxy cannot intercept it. | Make the method at least package-private, not static and not final.
					FinalMethod             | the method is final, so a proxy cannot intercept it. | In Kotlin, declare it 'open', or use the kotlin-spring plugin.
					FinalClass              | its class is final, so a proxy cannot extend it. | Remove 'final' from the class. In Kotlin, declare the class and its listener methods 'open', or use the kotlin-spring plugin.
					FinalClassWithInterface | its class is final, so a proxy cannot extend it. | Remove 'final' from the class.
					FinalSuspendListener    | its class is final, so a proxy cannot extend it. | Remove 'final' from the class.
					FinalSuspendFunction    | the method is public final, so a proxy cannot intercept it. | In Kotlin, declare it 'open'
					AsyncMethod             | @Async moves it to another thread than that of the container | Remove @Async.
					Share                   | its container is a ShareKafkaMessageListenerContainer | Use a container of a consumer group.
					Own                     | its container is a OwnContainer, whose handling of errors cannot be decorated. | Use a container of a consumer group.
					NoGroup                 | has no consumer group to take its scope from. | Set 'scope' of @Idempotent, or 'groupId' of @KafkaListener.
					AutoCommitting          | its consumer commits offsets by itself | Remove 'enable.auto.commit'
					AutoCommittingContainer | its consumer commits offsets by itself | Remove 'enable.auto.commit'
					TransactionalContainer  | the property 'transactionManager' of its container begins a transaction outside | Put @Transactional on the method instead.
					FixedOffsets            | the property 'fixTxOffsets' of its container commits the position of the consumer | Do not set it
					NestedSum               | has a sum inside another operation | Put the sum at the top
					RequiresNew             | is transactional, but its own @Transactional suspends the transaction in which the record commits. | Remove the propagation or readOnly attribute, or use leased mode.
					ReadOnly                | is transactional, but its own @Transactional is read-only. | Remove the propagation or readOnly attribute, or use leased mode.
					Overloaded              | has the same default scope 'group/topic#handle' | Rename one of them, or put @Idempotent with a 'scope' on each
					ClassCondition          | other uses unknown variables: [value]. | annotate this method with @Idempotent of its own
					Messages                | it returns a Message, whose headers belong to the first delivery only. | Return the payload
					FutureMessages          | it returns a Message, whose headers belong to the first delivery only. | Return the payload
					PlainFutures            | it returns a Future, which Spring Kafka does not wait for. | Return a CompletableFuture or a Mono.
					Stages                  | it returns a CompletionStage, which Spring Kafka does not wait for. | Return a CompletableFuture or a Mono.
					Fluxes                  | it returns a Flux, which Spring Kafka does not wait for. | Return a CompletableFuture or a Mono.
					TransactionalFutures    | is configured for transactional mode, but it is asynchronous | Use leased mode, or let the method return its result itself.
					Mixed                   | some methods of its listener class are asynchronous and others are not. | Let all of them return a CompletableFuture or a Mono, or none.
					MixedSiblings           | some methods of its listener class are asynchronous and others are not. | Let all of them return
					Quoted                  | uses no variable, so all records would have the same key | Remove the quotes: #payload.id.
					Constant                | uses no variable, so all records would have the same key | Begin with a variable: #payload.id.
					WithoutHash             | uses no variable, so all records would have the same key | Begin with a variable: #payload.paymentId.
					OfValue                 | begins with '#{', as an expression of @Value does. | Write the expression alone: #payload.id.
					RejectsUndeclared       | declares no fingerprint, so it is not known which content must not differ. | Set 'fingerprint' to the content
					IgnoresDeclared         | declares a fingerprint, which would not be compared. | Remove one of them.
					WithoutKey              | has a version but no key. | Set 'key' to the identity of the entity
					Fraction                | which is not a whole number of 64 bits | Use a property that grows with each change
					Local                   | which is not a whole number of 64 bits | Use a property that grows with each change
					AllExceptions           | in 'declineFor' of @Idempotent | Name the exceptions with which the method declines an operation for good.
					BlockedExceptions       | in 'declineFor' of @Idempotent | Name the exceptions with which the method declines an operation for good.
					""")
	void listenerThatCannotBeProtectedIsRefused(String listener, String problem, String action) throws Exception {
		assertRefused(listener, problem, action);
	}

	@ParameterizedTest
	@CsvSource({ "OneMessage, Message", "AllHeaders, Map", "HeadersOfMessage, MessageHeaders",
			"AnyCollection, Collection", "Array, String[]", "OneRecord, ConsumerRecord" })
	void batchParameterThatIsNotAListIsRefused(String listener, String type) throws Exception {
		assertRefused(listener,
				"it is a batch listener with a parameter of type " + type
						+ ", from which single records cannot be removed.",
				"Use List parameters (also for headers), ConsumerRecords, Acknowledgment and Consumer.");
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', quoteCharacter = '~',
			textBlock = """
					NoRecords     | its container delivers batches, but the method accepts single records. | Set 'batch' of @KafkaListener to "false", or declare a List parameter.
					OneResult     | it is a batch listener that returns a String, which cannot be split by record. | Return a List with one element for each record, or nothing.
					OneFuture     | it is an asynchronous batch listener, whose batch Spring Kafka acknowledges also when it fails. | Return the results themselves, or set 'batch' of @KafkaListener to "false".
					BatchMessages | it returns a Message, whose headers belong to the first delivery only. | Return the payload; the reply gets the current correlation id by itself.
					OwnFilter     | the RecordFilterStrategy of its container overrides filterBatch, so the remaining records cannot be identified. | Remove the filter, and drop records in a BatchInterceptor.
					""")
	void batchThatCannotBeSplitIsRefused(String listener, String problem, String action) throws Exception {
		assertRefused(listener, problem, action);
	}

	@ParameterizedTest
	@ValueSource(
			strings = { "Interfaces", "AbstractClasses", "Unconstructibles", "FutureInterfaces", "OptionalInterfaces" })
	@Tag("promise-8")
	void resultTypeThatCannotBeReadBackIsRefused(String listener) throws Exception {
		assertRefused(listener,
				", which can be stored but not read back for a duplicate: Cannot construct instance of `"
						+ RefusedListeners.class.getName() + "$",
				"Return a class or record that can be read back");
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|',
			textBlock = """
					OffsetFutures     | its method is asynchronous, so that a later record may complete first.
					OffsetLeased      | it uses leased mode, and only a database transaction stores the offset together with the effect.
					OffsetResults     | its method returns a value, which is not stored for each record.
					OffsetBatches     | its method returns a value, which is not stored for each record.
					OffsetRetried     | it has a retry topic, whose records are processed after later ones.
					OffsetDead        | its method handles dead letters, which may be sent again in another order.
					OffsetAsyncAcks   | its container has 'asyncAcks', which acknowledges records in any order.
					OffsetFingerprint | its @Idempotent sets 'fingerprint', which needs keys.
					OffsetShared      | its scope 'shared' is also that of a listener of another consumer group
					""")
	void listenerWhoseOffsetsCannotBeComparedIsRefused(String listener, String reason) throws Exception {
		assertRefused(listener, "is to recognize its records by their offsets, but " + reason,
				listener.equals("OffsetFingerprint") ? "Remove 'fingerprint', or set 'key' of @Idempotent."
						: "Identify the records by a key, or set 'onMissingKey' of @Idempotent to RECORD_COORDINATES.");
	}

	@Test
	void policyOfAllListenersIsRefusedIfOneCannotCompareOffsets() {
		assertThat(ListenerStart.refusal(DefaultReturning.class, "idempotency.key.on-missing=offset").getDescription())
			.contains("DefaultReturning.listen is to recognize its records by their offsets");
	}

	@Test
	void versionsOfABatchThatAcknowledgesAreRefused() throws Exception {
		assertRefused("ManualBatch", "has a version and an Acknowledgment.", "Remove the Acknowledgment",
				"spring.kafka.listener.ack-mode=manual");
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', quoteCharacter = '"',
			textBlock = """
					Futures           | it is asynchronous, but its container has a Kafka transaction, which ends when the method returns | Return the result itself, or use a container factory without a Kafka transaction manager.
					TransactionalMode | is configured for transactional mode, but it has a Kafka transaction in its container | Use leased mode, which completes after the Kafka transaction
					TransactionalMode | so that its output could be lost | use a container factory without a Kafka transaction manager
					TransactionalMode | so that its output could be lost | through the outbox
					""")
	void listenerThatContradictsAKafkaTransactionIsRefused(String listener, String problem, String action)
			throws Exception {
		assertRefused(listener, problem, action, TRANSACTIONS);
	}

	// Spring Kafka would commit the offset of each acknowledgment outside the
	// transaction.
	@Test
	@Tag("promise-1")
	void immediateAcknowledgmentInAKafkaTransactionIsRefused() throws Exception {
		assertRefused("Leased", "its container has a Kafka transaction and the ack mode MANUAL_IMMEDIATE",
				"Set the ack mode to BATCH or RECORD", TRANSACTIONS, IMMEDIATE);
	}

	@Test
	void autoModeInAKafkaTransactionIsLeasedWithAWarning() {
		try (Logs logs = new Logs()) {
			ListenerStart.start(DefaultConsumer.class, TRANSACTIONS);
			assertThat(messages(logs, "WARN", DefaultConsumer.class)).singleElement()
				.asString()
				.contains("DefaultConsumer.listen has a Kafka transaction in its container", "so it uses leased mode",
						"Set the mode to LEASED if that is intended");
			assertThat(messages(logs, "INFO", DefaultConsumer.class)).singleElement()
				.asString()
				.contains("mode LEASED");
		}
	}

	@ParameterizedTest
	@ValueSource(classes = { RefusedListeners.Futures.class, Monos.class, RefusedListeners.Leased.class,
			LeasedRequiresNew.class })
	void leasedModeCausesNoWarningWhereItIsTheOnlyOrTheChosenOne(Class<?> listener) {
		String[] properties = (listener == RefusedListeners.Leased.class) ? new String[] { TRANSACTIONS }
				: new String[0];
		try (Logs logs = new Logs()) {
			ListenerStart.start(listener, properties);
			assertThat(messages(logs, "WARN", listener)).isEmpty();
			assertThat(messages(logs, "INFO", listener)).singleElement().asString().contains("mode LEASED");
		}
	}

	@ParameterizedTest
	@ValueSource(classes = { DefaultReturning.class, DefaultRetried.class, DefaultSeeking.class, DefaultAssigned.class,
			DefaultConsumer.class, DefaultShared.class, Batch.class, Poll.class, FilteredRecords.class,
			OverloadedWithScopes.class, Readables.class })
	@Tag("promise-8")
	void otherListenersStart(Class<?> listener) {
		ListenerStart.start(listener);
	}

	@Test
	void applicationWithARefusedListenerFailsToStart() {
		Contexts.all()
			.withUserConfiguration(RefusedListeners.PlainFutures.class)
			.run((context) -> assertThat(Contexts.analyze(context.getStartupFailure()).getDescription()).isEqualTo(
					"The idempotent listener RefusedListeners.PlainFutures.listen cannot be protected: it returns "
							+ "a Future, which Spring Kafka does not wait for."));
	}

	@Test
	void finalClassWithAnInterfaceStartsWithProxiesOfInterfaces() {
		Contexts.all()
			.withPropertyValues("spring.aop.proxy-target-class=false")
			.withUserConfiguration(RefusedListeners.FinalClassWithInterface.class)
			.run((context) -> assertThat(context).hasNotFailed());
	}

	private static void assertRefused(String listener, String problem, String action, String... properties)
			throws Exception {
		String nested = RefusedListeners.class.getName() + "$" + listener;
		Class<?> type = ClassUtils.isPresent(nested, null) ? Class.forName(nested)
				: Class.forName(RefusedListeners.class.getPackageName() + "." + listener);
		FailureAnalysis analysis = ListenerStart.refusal(type, properties);
		assertThat(analysis.getDescription()).contains(listener + ".", problem);
		assertThat(analysis.getAction()).contains(action);
	}

	private static List<String> messages(Logs logs, String level, Class<?> listener) {
		return logs.messages(level)
			.stream()
			.filter((message) -> message.contains("." + listener.getSimpleName() + "."))
			.toList();
	}

	static class Monos {

		@Listen
		Mono<String> listen(String value) {
			return Mono.just(value);
		}

	}

	static class LeasedRequiresNew {

		@Listen(mode = Mode.LEASED)
		@Transactional(propagation = Propagation.REQUIRES_NEW)
		void listen(String value) {
		}

	}

	static class DefaultReturning {

		@Listen
		String listen(String value) {
			return value;
		}

	}

	static class DefaultRetried {

		@Listen
		@RetryableTopic(attempts = "3", autoCreateTopics = "false")
		void listen(String value) {
		}

	}

	static class DefaultSeeking extends AbstractConsumerSeekAware {

		@Listen
		void listen(String value) {
		}

	}

	static class DefaultAssigned {

		@Idempotent
		@KafkaListener(groupId = "assigned", topicPartitions = @TopicPartition(topic = "topic", partitions = "0"))
		void listen(String value) {
		}

	}

	static class DefaultConsumer {

		@Listen
		void listen(String value, Consumer<?, ?> consumer) {
		}

	}

	static class DefaultShared {

		@Listen(scope = "default")
		void listen(String value) {
		}

		@Listen(scope = "default", groupId = "other")
		void other(String value) {
		}

	}

	static class Batch {

		@Listen(batch = "true")
		List<String> listen(List<String> values, Acknowledgment acknowledgment, Consumer<?, ?> consumer) {
			return values;
		}

	}

	static class Poll {

		@Listen(batch = "true")
		void listen(ConsumerRecords<String, String> records) {
		}

	}

	static class FilteredRecords {

		@Listen(containerFactory = "filtering")
		void listen(String value) {
		}

	}

	@KafkaListener(topics = "topic", groupId = "group")
	static class OverloadedWithScopes {

		@Idempotent(scope = "texts")
		@KafkaHandler
		void handle(String value) {
		}

		@Idempotent(scope = "numbers")
		@KafkaHandler
		void handle(Integer value) {
		}

	}

	record Receipt(String text) {

	}

	record Page<T>(List<T> elements) {

	}

	static class Readables {

		@Listen
		Receipt record(String value) {
			return new Receipt(value);
		}

		@Listen
		List<Receipt> list(String value) {
			return List.of(new Receipt(value));
		}

		@Listen
		Optional<Receipt> optional(String value) {
			return Optional.of(new Receipt(value));
		}

		@Listen
		Page<Receipt> generic(String value) {
			return new Page<>(List.of(new Receipt(value)));
		}

		@Listen
		Map<String, Receipt> map(String value) {
			return Map.of(value, new Receipt(value));
		}

		@Listen
		CompletableFuture<Receipt> future(String value) {
			return CompletableFuture.completedFuture(new Receipt(value));
		}

		@Listen
		String text(String value) {
			return value;
		}

		@Listen
		long number(String value) {
			return 1;
		}

		@Listen
		byte[] bytes(String value) {
			return new byte[0];
		}

		@Listen
		Object anything(String value) {
			return value;
		}

	}

}
