/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.key;

import java.lang.reflect.Method;
import java.lang.reflect.Type;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.kafka.support.KafkaNull;
import org.springframework.messaging.Message;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.messaging.handler.annotation.Headers;
import org.springframework.messaging.handler.annotation.Payload;
import org.springframework.messaging.support.GenericMessage;
import tools.jackson.databind.json.JsonMapper;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyFingerprintUnusableException;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyKeyMissingException;
import dev.idempotency.Idempotent;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.Mode;
import dev.idempotency.OtherContentPolicy;
import dev.idempotency.jackson.JacksonSerialization;
import dev.idempotency.listener.key.OperationResolver.Resolution;
import dev.idempotency.store.Fingerprint;
import dev.idempotency.template.IdempotentOperation;
import dev.idempotency.template.Observers;
import dev.idempotency.template.OperationObserver;
import dev.idempotency.template.OperationObserver.HandledOperation;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.template.ResultCodec;
import dev.idempotency.template.Serialization;
import dev.idempotency.testsupport.Logs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/**
 * Tests for {@link OperationResolver}.
 */
@Tag("promise-10")
class OperationResolverTests {

	private static final MessageListenerContainer CONTAINER = Containers.of("group", "orders");

	private static final String ORIGIN = "listener X.listen, topic orders, partition 1, offset 2";

	private final List<String> missing = new ArrayList<>();

	private final List<HandledOperation> executions = new ArrayList<>();

	private final OperationObserver listener = new OperationObserver() {

		@Override
		public void handled(HandledOperation execution) {
			OperationResolverTests.this.executions.add(execution);
		}

		@Override
		public void keyMissing(String name, MissingKeyPolicy policy) {
			OperationResolverTests.this.missing.add(name + " " + policy);
		}

	};

	private final ConsumerRecord<String, Object> record = record(Map.of("id", "42"));

	private Serialization serialization = new TextSerialization();

	private MissingKeyPolicy policy = MissingKeyPolicy.RECORD_COORDINATES;

	private OtherContentPolicy otherContent = OtherContentPolicy.IGNORE;

	private static ConsumerRecord<String, Object> record(@Nullable Object value) {
		return new ConsumerRecord<>("orders", 1, 2, null, value);
	}

	private static ListenerExpressions expressions(Method method, boolean batch, boolean deadLetter) {
		Class<?> type = method.getDeclaringClass();
		Idempotent annotation = method.isAnnotationPresent(Idempotent.class) ? method.getAnnotation(Idempotent.class)
				: type.getAnnotation(Idempotent.class);
		return ListenerExpressions.of(annotation, (text) -> text.replace("${id}", "id"), method, type, "X.listen",
				batch, deadLetter);
	}

	private static Method method(String name) {
		return Stream.of(Listeners.class.getDeclaredMethods())
			.filter((candidate) -> candidate.getName().equals(name))
			.findFirst()
			.orElseThrow();
	}

	private OperationResolver resolver(ListenerExpressions expressions, boolean deadLetter) {
		OperationResolver.Settings settings = new OperationResolver.Settings("X.listen", Mode.LEASED,
				Duration.ofSeconds(1), Duration.ofHours(1), List.of("key"), this.policy, this.otherContent);
		return OperationResolver.of(settings, expressions,
				new ListenerScope(null, null, CONTAINER, CONTAINER, deadLetter, "X.listen"), this.serialization,
				new Observers(List.of(this.listener), List.of()), null);
	}

	private Resolution resolve(String method, @Nullable Object... arguments) {
		return resolver(expressions(method(method), false, false), false).resolve(this.record, arguments, -1);
	}

	private IdempotentOperation operation(String method, @Nullable Object... arguments) {
		return Objects.requireNonNull(resolve(method, arguments).operation());
	}

	private String key(String method, @Nullable Object... arguments) {
		return operation(method, arguments).key().value();
	}

	private OperationResolverTests header(String name, String value) {
		this.record.headers().add(name, value.getBytes(StandardCharsets.UTF_8));
		return this;
	}

	@Test
	void operationHasTheSettingsOfItsListener() {
		Resolution resolution = resolve("keyed", this.record.value());
		assertThat(resolution.excluded()).isFalse();
		assertThat(resolution.origin()).hasToString(ORIGIN);
		IdempotentOperation operation = resolution.operation();
		assertThat(operation.key()).isEqualTo(IdempotencyKey.of("group/orders", "42"));
		assertThat(operation.name()).isEqualTo("X.listen");
		assertThat(operation.mode()).isEqualTo(Mode.LEASED);
		assertThat(operation.lease()).isEqualTo(Duration.ofSeconds(1));
		assertThat(operation.retention()).isEqualTo(Duration.ofHours(1));
		assertThat(operation.fingerprint()).isNull();
		assertThat(operation).hasToString("key '42' in scope 'group/orders' (" + ORIGIN + ")");
		assertThat(this.missing).isEmpty();
	}

	// A record with the same headers.
	private ConsumerRecord<String, Object> next(@Nullable Object value) {
		ConsumerRecord<String, Object> next = record(value);
		this.record.headers().forEach(next.headers()::add);
		return next;
	}

	private @Nullable IdempotentOperation ahead(String method, ConsumerRecord<?, ?> next) {
		OperationResolver resolver = resolver(expressions(method(method), false, false), false);
		return resolver.canResolveAhead() ? resolver.resolveAhead(next) : null;
	}

	@ParameterizedTest
	@ValueSource(strings = { "plain", "keyed", "recordOnly", "conditional", "fingerprinted" })
	void operationOfTheNextRecordIsThatOfItsDelivery(String method) {
		header("key", "a").header("flag", "yes");
		ConsumerRecord<String, Object> next = next(method.equals("fingerprinted") ? "content" : this.record.value());
		IdempotentOperation delivered = resolver(expressions(method(method), false, false), false)
			.resolve(next, new Object[] { next.value() }, -1)
			.operation();
		assertThat(ahead(method, next)).usingRecursiveComparison().isEqualTo(delivered);
	}

	@ParameterizedTest
	@ValueSource(strings = { "arguments", "firstOfTwo", "message", "tombstone", "annotatedPayload" })
	void operationOfTheNextRecordIsNotKnownBeforeItsConversion(String method) {
		header("key", "a");
		assertThat(ahead(method, method.equals("tombstone") ? next(null) : this.record)).isNull();
	}

	@Test
	void nextRecordThatIsExcludedHasNoOperation() {
		header("key", "a").header("flag", "no");
		assertThat(ahead("conditional", this.record)).isNull();
	}

	@ParameterizedTest
	@EnumSource(names = { "RECORD_COORDINATES", "PROCESS", "REJECT" })
	void nextRecordWithoutKeyIsNotReported(MissingKeyPolicy missingKey) {
		this.policy = missingKey;
		try (Logs logs = Logs.ofThisThread()) {
			IdempotentOperation operation = ahead("plain", this.record);
			assertThat(operation != null).isEqualTo(missingKey == MissingKeyPolicy.RECORD_COORDINATES);
			assertThat(logs.messages("WARN")).isEmpty();
		}
		assertThat(this.missing).isEmpty();
	}

	@Test
	void nextRecordWhoseFingerprintFailsIsNotReported() {
		header("key", "a");
		assertThat(ahead("fingerprinted", next(List.of("secret")))).isNull();
		assertThat(this.executions).isEmpty();
	}

	@Test
	void recordOfABatchHasTheKeyOfItsElement() {
		OperationResolver resolver = resolver(expressions(method("batch"), true, false), false);
		Object[] arguments = { List.of(Map.of("id", "a"), Map.of("id", "b")), "same" };
		assertThat(Stream.of(0, 1)
			.map((index) -> resolver.resolve(this.record, arguments, index).operation().key().value()))
			.containsExactly("a same", "b same");
	}

	@Test
	void keyOfADeadLetterIsItsCoordinates() {
		header("key", "a");
		ListenerExpressions expressions = expressions(method("rejecting"), false, true);
		assertThat(expressions.hasFingerprint()).isFalse();
		IdempotentOperation operation = resolver(expressions, true).resolve(this.record, new Object[] { "x" }, -1)
			.operation();
		assertThat(operation.key().value()).startsWith("orders-1-2@");
		assertThat(operation.fingerprint()).isNull();
	}

	@Test
	void recordWithoutKeyHasItsCoordinatesAsKey() {
		try (Logs logs = Logs.ofThisThread()) {
			assertThat(key("plain", "x")).startsWith("orders-1-2@");
			assertThat(logs.messages("WARN")).singleElement()
				.asString()
				.startsWith("The record has no usable idempotency key: neither the expression nor a header has one")
				.contains("(" + ORIGIN + ")", "Its coordinates are used as the key", "Make the producer send a key");
		}
		assertThat(this.missing).containsExactly("X.listen RECORD_COORDINATES");
	}

	@Test
	void recordWithoutKeyIsProcessedWithoutProtection() {
		this.policy = MissingKeyPolicy.PROCESS;
		try (Logs logs = Logs.ofThisThread()) {
			Resolution resolution = resolve("plain", "x");
			assertThat(resolution.operation()).isNull();
			assertThat(resolution.excluded()).isFalse();
			assertThat(logs.messages("WARN")).singleElement().asString().contains("processed without protection");
		}
		assertThat(this.missing).containsExactly("X.listen PROCESS");
	}

	@Test
	void recordWithoutKeyIsRejected() {
		this.policy = MissingKeyPolicy.REJECT;
		assertThatExceptionOfType(IdempotencyKeyMissingException.class).isThrownBy(() -> resolve("plain", "x"))
			.withMessageContainingAll(ORIGIN, "The record is rejected. Make the producer send a key");
		assertThat(this.missing).containsExactly("X.listen REJECT");
		assertThat(this.executions)
			.containsExactly(new HandledOperation("X.listen", Mode.LEASED, null, Outcome.REJECTED, Duration.ZERO));
	}

	@Test
	void recordWhoseKeyExpressionFailsIsRejectedWithTheCause() {
		this.policy = MissingKeyPolicy.REJECT;
		assertThatExceptionOfType(IdempotencyKeyMissingException.class).isThrownBy(() -> resolve("keyed", Map.of()))
			.withMessageContainingAll("the expression '#payload[id].trim()' failed", "Correct the expression")
			.havingCause()
			.withMessageContaining("METHOD_CALL_ON_NULL_OBJECT_NOT_ALLOWED");
	}

	@ParameterizedTest
	@CsvSource({ "yes,false", "no,true" })
	void conditionExcludesRecordsForWhichItIsFalse(String flag, boolean excluded) {
		header("key", "a").header("flag", flag);
		Resolution resolution = resolve("conditional", "x");
		assertThat(resolution.excluded()).isEqualTo(excluded);
		assertThat(resolution.operation() == null).isEqualTo(excluded);
		assertThat(resolution.origin()).hasToString(ORIGIN);
	}

	@Test
	@Tag("promise-15")
	void recordWhoseConditionFailsIsProtected() {
		header("key", "a");
		try (Logs logs = Logs.ofThisThread()) {
			assertThat(operation("conditional", "x").key().value()).isEqualTo("a");
			assertThat(logs.messages("WARN")).singleElement()
				.asString()
				.contains("The condition '#headers[flag].equals('yes')' failed, so the record is protected", ORIGIN);
		}
	}

	@Test
	@Tag("promise-9")
	void fingerprintIsThatOfTheCanonicalContent() {
		header("key", "a");
		assertThat(operation("fingerprinted", "content").fingerprint())
			.isEqualTo(Fingerprint.of(3, "content".getBytes(StandardCharsets.UTF_8)));
		assertThat(expressions(method("fingerprinted"), false, false).hasFingerprint()).isTrue();
		assertThat(expressions(method("plain"), false, false).hasFingerprint()).isFalse();
	}

	@Test
	@Tag("promise-9")
	void fingerprintOfTheProducerIsUsedWhenThereIsNoExpression() {
		this.otherContent = OtherContentPolicy.REPORT;
		header("key", "a").header("Idempotency-Fingerprint", "digest");
		assertThat(operation("plain", "x").fingerprint())
			.isEqualTo(Fingerprint.ofMessage("digest".getBytes(StandardCharsets.UTF_8)));
	}

	@Test
	@Tag("promise-9")
	void fingerprintOfTheProducerIsFoundAmongTheJoinedHeaders() {
		this.otherContent = OtherContentPolicy.REPORT;
		header("key", "a").header("idempotency-headers", "key=a&Idempotency-Fingerprint=digest&x=y");
		assertThat(operation("plain", "x").fingerprint())
			.isEqualTo(Fingerprint.ofMessage("digest".getBytes(StandardCharsets.UTF_8)));
	}

	@Test
	@Tag("promise-9")
	void fingerprintOfTheProducerIsNotComparedIfOtherContentIsIgnored() {
		header("key", "a").header("Idempotency-Fingerprint", "digest");
		assertThat(operation("plain", "x").fingerprint()).isNull();
	}

	@Test
	@Tag("promise-9")
	void joinedHeadersWithoutFingerprintHaveNone() {
		header("key", "a").header("idempotency-headers", "key=a&x=y");
		assertThat(operation("plain", "x").fingerprint()).isNull();
		this.record.headers().add("idempotency-headers", null);
		assertThat(operation("plain", "x").fingerprint()).isNull();
	}

	@Test
	@Tag("promise-9")
	void recordWhoseFingerprintCannotBeSerializedIsRejected() {
		header("key", "a");
		assertThatExceptionOfType(IdempotencyFingerprintUnusableException.class)
			.isThrownBy(() -> resolve("fingerprinted", List.of("secret")))
			.withMessageContainingAll("The fingerprint '#payload' yields a java.util.",
					"that cannot be serialized: "
							+ "java.lang.IllegalStateException caused by java.lang.ClassCastException (" + ORIGIN + ")")
			.withMessageNotContaining("secret");
		assertThat(this.executions)
			.containsExactly(new HandledOperation("X.listen", Mode.LEASED, null, Outcome.REJECTED, Duration.ZERO));
	}

	@Test
	@Tag("promise-9")
	void failureOfTheSerializerWithoutCauseIsNamedOnce() {
		header("key", "a");
		assertThatExceptionOfType(IdempotencyFingerprintUnusableException.class)
			.isThrownBy(() -> resolve("fingerprinted", 7))
			.withMessageContaining("cannot be serialized: java.lang.UnsupportedOperationException (")
			.withMessageNotContaining("secret");
	}

	@Test
	@Tag("promise-9")
	void recordWhoseFingerprintExpressionFailsIsRejected() {
		header("key", "a");
		assertThatExceptionOfType(IdempotencyFingerprintUnusableException.class)
			.isThrownBy(() -> resolve("rejecting", (Object) null))
			.withMessageContaining("The fingerprint '#payload.trim()' failed: ")
			.withMessageContaining("METHOD_CALL_ON_NULL_OBJECT_NOT_ALLOWED");
	}

	// An error would stop the container, and again with each delivery after its restart.
	@Test
	@Tag("promise-9")
	void recordThatIsTooDeepForItsFingerprintIsRejected() {
		Schema schema = new Schema.Parser().parse(
				"{\"type\":\"record\",\"name\":\"Node\",\"fields\":[{\"name\":\"next\",\"type\":[\"null\",\"Node\"]}]}");
		GenericRecord node = null;
		for (int i = 0; i < 400; i++) {
			GenericRecord next = new GenericData.Record(schema);
			next.put("next", node);
			node = next;
		}
		GenericRecord deep = node;
		header("key", "a");
		this.serialization = new JacksonSerialization(JsonMapper.builder().build());
		FutureTask<Resolution> resolution = new FutureTask<>(() -> resolve("fingerprinted", deep));
		new Thread(null, resolution, "small stack", 200_000).start();
		assertThatThrownBy(() -> resolution.get(1, TimeUnit.MINUTES))
			.hasCauseInstanceOf(IdempotencyFingerprintUnusableException.class)
			.hasMessageContaining("cannot be serialized: java.lang.StackOverflowError (" + ORIGIN + ")");
	}

	@Test
	@Tag("promise-9")
	void errorOfAContentRejectsTheRecord() {
		header("key", "a");
		this.serialization = new JacksonSerialization(JsonMapper.builder().build());
		assertThatExceptionOfType(IdempotencyFingerprintUnusableException.class)
			.isThrownBy(() -> resolve("fingerprinted", new Unfinished()));
	}

	@Test
	@Tag("promise-9")
	void contentWithAnErrorIsNotCompared() {
		header("key", "a");
		this.otherContent = OtherContentPolicy.REPORT;
		this.serialization = new JacksonSerialization(JsonMapper.builder().build());
		ConsumerRecord<String, Object> unfinished = next(new Unfinished());
		OperationResolver resolver = resolver(expressions(method("plain"), false, false), false);
		try (Logs logs = new Logs()) {
			assertThat(resolver.resolve(unfinished, new Object[1], -1).operation().fingerprint()).isNull();
			assertThat(resolver.resolve(unfinished, new Object[1], -1).operation().fingerprint()).isNull();
			assertThat(logs.messages("INFO")).singleElement().asString().contains("is not compared");
		}
	}

	@Test
	void contentThatIsTooLongForAnExpressionHasNoKey() {
		assertThat(resolve("matching", "ab".repeat(200_000)).operation().key().value()).isEqualTo("orders-1-2@-1");
		assertThat(this.missing).containsExactly("X.listen RECORD_COORDINATES");
	}

	@ParameterizedTest
	@ValueSource(strings = { "payloadAfterOthers", "annotatedPayload", "firstOfTwo" })
	void payloadIsFoundAmongTheParameters(String method) {
		Object[] arguments = method.equals("payloadAfterOthers")
				? new Object[] { null, this.record, null, "tenant", Map.of(), "42" } : new Object[] { "42", "x" };
		if (method.equals("annotatedPayload")) {
			arguments = new Object[] { "x", "42" };
		}
		assertThat(key(method, arguments)).isEqualTo("42");
	}

	@Test
	void payloadOfAMethodWithoutOneIsTheValueOfTheRecord() {
		assertThat(key("recordOnly", this.record)).isEqualTo("42");
	}

	@Test
	void payloadOfAMessageIsItsContent() {
		assertThat(key("message", new GenericMessage<>("42"))).isEqualTo("42");
	}

	@Test
	void tombstoneHasNoPayload() {
		assertThat(key("tombstone", KafkaNull.INSTANCE)).isEqualTo("none");
	}

	@Test
	void argumentsAreNamedAsTheirParameters() {
		assertThat(key("arguments", "a", "b")).isEqualTo("b-a");
	}

	@Test
	void expressionMayCompareAddAndCreateObjects() {
		assertThat(key("operators", "7")).isEqualTo("9");
	}

	@ParameterizedTest
	@CsvSource({ "2026-01-02,2026-01-03,false", "2026-01-03,2026-01-02,true" })
	void expressionMayComparePropertiesThatAreNoNumbers(LocalDate due, LocalDate paid, String late) {
		assertThat(key("comparison", new Payment(due), paid)).isEqualTo(late);
	}

	@Test
	void operatorThatDoesNotExistIsNamedByItsCode() {
		this.policy = MissingKeyPolicy.REJECT;
		assertThatExceptionOfType(IdempotencyKeyMissingException.class)
			.isThrownBy(() -> resolve("difference", new Payment(LocalDate.EPOCH)))
			.havingCause()
			.withMessageContaining("OPERATOR_NOT_SUPPORTED_BETWEEN_TYPES");
	}

	@Test
	void placeholdersOfExpressionsAreResolved() {
		assertThat(key("placeholder", Map.of("id", "42"))).isEqualTo("42");
	}

	@Test
	@Tag("promise-12")
	void expressionThatCannotBeParsedIsRefused() {
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> expressions(method("broken"), false, false))
			.withMessageStartingWith(
					"The condition expression '#payload +' of @Idempotent on X.listen cannot be parsed")
			.satisfies((failure) -> assertThat(failure.action()).isEqualTo("Correct the expression."));
	}

	@Test
	@Tag("promise-12")
	void unknownVariablesAreRefused() {
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> expressions(method("unknown"), false, false))
			.withMessageContaining("uses unknown variables: [nested, other]");
	}

	@ParameterizedTest
	@CsvSource({ "ofBean, names the bean '@keys'", "ofRoot, uses '#root'" })
	@Tag("promise-12")
	void keyOfSomethingThatIsNotAvailableNamesIt(String method, String problem) {
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> expressions(method(method), false, false))
			.withMessageContaining(problem);
	}

	@ParameterizedTest
	@ValueSource(strings = { "nestedSum", "deeplyNestedSum" })
	@Tag("promise-12")
	void sumInsideAnotherOperationIsRefused(String method) {
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> expressions(method(method), false, false))
			.withMessageContaining("has a sum inside another operation");
	}

	@Test
	void sumInsideAnIndexIsANumber() {
		assertThat(key("indexSum", List.of("a", "b", "c"))).isEqualTo("c");
	}

	@ParameterizedTest
	@CsvSource({ "joined,true", "joinedLater,true", "separated,false", "separatedBefore,false" })
	@Tag("promise-12")
	void keyOfPartsWithoutSeparatorIsReported(String method, boolean reported) {
		try (Logs logs = Logs.ofThisThread()) {
			expressions(method(method), false, false);
			assertThat(logs.messages("WARN")).hasSize(reported ? 1 : 0)
				.allSatisfy((warning) -> assertThat(warning).contains("joins parts without a separator"));
		}
	}

	// A method may read what an interceptor has stored for the thread.
	@Test
	void keyMayBeTheResultOfAStaticMethod() {
		System.setProperty("OperationResolverTests", "7");
		try {
			assertThat(key("ofThread", "x")).isEqualTo("7");
		}
		finally {
			System.clearProperty("OperationResolverTests");
		}
	}

	@Test
	@Tag("promise-12")
	void mistakeInTheAnnotationOfAClassSaysSo() throws Exception {
		Method method = Annotated.class.getDeclaredMethod("listen", String.class);
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> expressions(method, false, false))
			.satisfies((failure) -> assertThat(failure.action())
				.contains("The annotation of the class applies to all its listener methods"));
	}

	// Kotlin has a function for it.
	public static class Unfinished {

		public String getTotal() {
			throw new Error("This is not an exception");
		}

	}

	@SuppressWarnings("unused")
	static class Listeners {

		@Idempotent
		void plain(String value) {
		}

		@Idempotent(key = "#payload[id].trim()")
		void keyed(Map<String, String> value) {
		}

		@Idempotent(key = "#payload[id] + ' ' + #name")
		void batch(List<Map<String, String>> values, String name) {
		}

		@Idempotent(condition = "#headers[flag].equals('yes')")
		void conditional(String value) {
		}

		@Idempotent(fingerprint = "#payload")
		void fingerprinted(Object value) {
		}

		@Idempotent(key = "#payload matches '(a|b)*' ? #payload : 'none'")
		void matching(String payload) {
		}

		@Idempotent(fingerprint = "#payload.trim()")
		void rejecting(String value) {
		}

		@Idempotent(key = "@keys.current()")
		void ofBean(String value) {
		}

		@Idempotent(key = "#root.id")
		void ofRoot(String value) {
		}

		@Idempotent(key = "T(System).getProperty('OperationResolverTests')")
		void ofThread(String value) {
		}

		@Idempotent(key = "#payload")
		void payloadAfterOthers(Acknowledgment acknowledgment, ConsumerRecord<String, Object> record,
				Consumer<?, ?> consumer, @Header("tenant") String tenant, @Headers Map<String, Object> headers,
				String value) {
		}

		@Idempotent(key = "#payload")
		void annotatedPayload(String other, @Payload String value) {
		}

		@Idempotent(key = "#payload")
		void firstOfTwo(String value, String other) {
		}

		@Idempotent(key = "#payload[id]")
		void recordOnly(ConsumerRecord<String, Map<String, String>> record) {
		}

		@Idempotent(key = "#payload")
		void message(Message<String> message) {
		}

		@Idempotent(key = "#payload == null ? 'none' : 'some'")
		void tombstone(@Payload(required = false) Object value) {
		}

		@Idempotent(key = "#second + '-' + #first")
		void arguments(String first, String second) {
		}

		@Idempotent(key = "T(Integer).parseInt(#payload) > 5 ? new java.math.BigDecimal('9') : #payload")
		void operators(String value) {
		}

		@Idempotent(key = "#payload.due > #paid")
		void comparison(@Payload Payment payment, LocalDate paid) {
		}

		@Idempotent(key = "#payload.due - 1")
		void difference(Payment payment) {
		}

		@Idempotent(key = "#payload[${id}]")
		void placeholder(Map<String, String> value) {
		}

		@Idempotent(condition = "#payload +")
		void broken(String value) {
		}

		@Idempotent(condition = "#other == #payload.concat(#nested)")
		void unknown(String value) {
		}

		@Idempotent(key = "(#payload + 'x').trim()")
		void nestedSum(String value) {
		}

		@Idempotent(key = "#payload == 'x' ? #payload : #payload.concat(#payload + 'y')")
		void deeplyNestedSum(String value) {
		}

		@Idempotent(key = "#payload[1 + 1]")
		void indexSum(List<String> value) {
		}

		@Idempotent(key = "#first + #second")
		void joined(String first, String second) {
		}

		@Idempotent(key = "#first + ':' + #second + #first")
		void joinedLater(String first, String second) {
		}

		@Idempotent(key = "#first + ':' + #second")
		void separated(String first, String second) {
		}

		@Idempotent(key = "'a' + #first")
		void separatedBefore(String first) {
		}

	}

	record Payment(LocalDate due) {

	}

	@Idempotent(key = "#payload.missing")
	static class Annotated {

		@SuppressWarnings("unused")
		void listen(String value) {
		}

	}

	/**
	 * Serializes texts only.
	 */
	private static final class TextSerialization implements Serialization {

		@Override
		public ResultCodec<Object> codec(Type type) {
			throw new UnsupportedOperationException();
		}

		@Override
		public byte[] canonical(@Nullable Object value) {
			if (value instanceof Integer) {
				throw new UnsupportedOperationException("secret");
			}
			try {
				return ((String) Objects.requireNonNull(value)).getBytes(StandardCharsets.UTF_8);
			}
			catch (ClassCastException ex) {
				throw new IllegalStateException("secret", ex);
			}
		}

		@Override
		public int canonicalVersion() {
			return 3;
		}

	}

}
