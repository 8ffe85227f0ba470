/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.key;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.kafka.listener.MessageListenerContainer;

import dev.idempotency.IdempotencyConfigurationException;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNoException;

/**
 * Tests for the names that a {@link ListenerScope} gives to records.
 */
@Tag("promise-15")
class ScopeNameTests {

	private static final MessageListenerContainer MAIN = Containers.of("group", "orders", "payments");

	private static final MessageListenerContainer RETRY = Containers.of("group-retry", "orders-retry",
			"payments-retry");

	private static ListenerScope main(MessageListenerContainer container) {
		return new ListenerScope(null, null, container, container, false, "X.listen");
	}

	private static ListenerScope retry(MessageListenerContainer container) {
		return new ListenerScope(null, null, MAIN, container, false, "X.listen");
	}

	private static ConsumerRecord<String, String> record(String topic) {
		return new ConsumerRecord<>(topic, 1, 2, null, "value");
	}

	private static ConsumerRecord<String, String> copy(String topic, String original) {
		ConsumerRecord<String, String> record = record(topic);
		record.headers()
			.add("kafka_original-topic", original.getBytes(StandardCharsets.UTF_8))
			.add("kafka_original-partition", ByteBuffer.allocate(4).putInt(3).array())
			.add("kafka_original-offset", ByteBuffer.allocate(8).putLong(4).array())
			.add("kafka_original-timestamp", ByteBuffer.allocate(8).putLong(5).array());
		return record;
	}

	@Test
	void defaultScopeConsistsOfGroupAndTopic() {
		ListenerScope scope = main(MAIN);
		assertThat(scope.names()).containsExactly("group/orders", "group/payments");
		assertThat(scope.of(record("orders"))).isEqualTo("group/orders");
		assertThat(scope.of(record("payments"))).isEqualTo("group/payments");
		assertThat(scope).hasToString("'group/orders', 'group/payments'");
		assertThat(scope.explicitName()).isNull();
		assertThat(scope.isNamed()).isFalse();
		assertThat(scope.isDeadLetter()).isFalse();
	}

	@Test
	void scopeOfTheAnnotationAppliesToEachTopic() {
		ListenerScope scope = new ListenerScope("shop", "created", MAIN, MAIN, false, "X.listen");
		assertThat(scope.names()).containsExactly("shop");
		assertThat(scope.of(record("orders"))).isEqualTo("shop");
		assertThat(scope.explicitName()).isEqualTo("shop");
		assertThat(scope.isNamed()).isTrue();
		assertThat(scope.includes("shop")).isTrue();
		assertThat(scope.includes("group/orders")).isFalse();
	}

	@Test
	void scopeOfTheAnnotationNeedsNoGroup() {
		MessageListenerContainer container = Containers.of(null, "orders");
		assertThat(new ListenerScope("shop", null, container, container, false, "X.listen").names())
			.containsExactly("shop");
	}

	@Test
	void listenerWithoutScopeAndGroupIsRefused() {
		MessageListenerContainer container = Containers.of(null, "orders");
		assertThatExceptionOfType(IdempotencyConfigurationException.class).isThrownBy(() -> main(container))
			.withMessageContaining("X.listen has no consumer group");
	}

	@Test
	void scopeOfAHandlerMethodEndsWithItsName() {
		ListenerScope scope = new ListenerScope(null, "created", MAIN, MAIN, false, "X.listen");
		assertThat(scope.of(record("orders"))).isEqualTo("group/orders#created");
		assertThat(scope.isNamed()).isTrue();
	}

	@Test
	void scopeOfTheDeadLetterHandlerIsSeparate() {
		MessageListenerContainer container = Containers.of("group-dlt", "orders-dlt", "payments-dlt");
		ListenerScope scope = new ListenerScope(null, null, MAIN, container, true, "X.listen");
		assertThat(scope.of(record("payments-dlt"))).isEqualTo("group/payments#dead-letter");
		assertThat(scope.isDeadLetter()).isTrue();
		assertThat(scope.isNamed()).isFalse();
		assertThat(scope.coordinates(copy("payments-dlt", "payments"))).startsWith("payments-dlt-1-2@");
	}

	@Test
	void recordOfAPartitionHasTheScopeOfItsTopic() {
		assertThat(main(Containers.ofPartition("group", "orders", 3)).names()).containsExactly("group/orders");
	}

	@Test
	void recordOnARetryTopicHasTheScopeOfItsMainTopic() {
		ListenerScope scope = retry(RETRY);
		assertThat(scope.of(record("orders-retry"))).isEqualTo("group/orders");
		assertThat(scope.of(record("payments-retry"))).isEqualTo("group/payments");
	}

	@Test
	void sharedRetryTopicHasTheScopeThatItsHeadersName() {
		ListenerScope scope = retry(Containers.of("group-retry", "retry", "retry"));
		assertThat(scope.of(copy("retry", "payments"))).isEqualTo("group/payments");
		assertThat(scope.of(copy("retry", "foreign"))).isEqualTo("group/orders");
		assertThat(scope.of(record("retry"))).isEqualTo("group/orders");
	}

	@Test
	void headersDoNotChangeTheScopeOfARetryTopicWithOneMainTopic() {
		assertThat(retry(RETRY).of(copy("orders-retry", "payments"))).isEqualTo("group/orders");
	}

	@Test
	void retryTopicsThatDoNotCorrespondToTheMainTopicsKeepTheirNames() {
		assertThat(retry(Containers.of("group-retry", "retry")).of(record("retry"))).isEqualTo("group/retry");
	}

	@Test
	void coordinatesOfARecordOnARetryTopicAreThoseOfTheOriginal() {
		assertThat(retry(RETRY).coordinates(copy("orders-retry", "orders"))).isEqualTo("orders-3-4@5");
	}

	@Test
	void coordinatesOfARetryTopicIgnoreHeadersOfAForeignTopic() {
		assertThat(retry(RETRY).coordinates(copy("orders-retry", "foreign"))).startsWith("orders-retry-1-2@");
	}

	@Test
	void coordinatesOfAMainTopicIgnoreItsHeaders() {
		assertThat(main(MAIN).coordinates(copy("orders", "payments"))).startsWith("orders-1-2@");
	}

	@Test
	void failedRecordKeepsItsCoordinatesOnTheRetryTopicDespiteCopiedHeaders() {
		ListenerScope scope = main(MAIN);
		scope.markRetried();
		ConsumerRecord<String, String> failed = copy("orders", "payments");
		scope.recordFailed(failed);
		ConsumerRecord<String, String> retried = record("orders-retry");
		failed.headers().forEach(retried.headers()::add);
		assertThat(retry(RETRY).coordinates(retried)).isEqualTo(scope.coordinates(failed));
	}

	@Test
	void failedRecordOfAListenerWithoutRetryTopicsStaysAsItIs() {
		ConsumerRecord<String, String> failed = copy("orders", "payments");
		main(MAIN).recordFailed(failed);
		assertThat(failed.headers()).hasSize(4);
	}

	@Test
	void fixedTopicsIncludeTheirOwnScopesOnly() {
		ListenerScope scope = main(MAIN);
		assertThat(scope.includes("group/orders")).isTrue();
		assertThat(scope.includes("group/refunds")).isFalse();
	}

	@Test
	void topicPatternIncludesTheScopesOfMatchingTopics() {
		MessageListenerContainer container = Containers.ofPattern("group", "orders-.*");
		ListenerScope scope = new ListenerScope(null, "created", container, container, false, "X.listen");
		assertThat(scope.names()).isEmpty();
		assertThat(scope).hasToString("'group/<topic>#created'");
		assertThat(scope.of(record("orders-a"))).isEqualTo("group/orders-a#created");
		assertThat(scope.includes("group/orders-a#created")).isTrue();
		assertThat(scope.includes("group/payments#created")).isFalse();
		assertThat(scope.includes("group/orders-a#paid")).isFalse();
		assertThat(scope.includes("other/orders-a#created")).isFalse();
	}

	@Test
	void patternThatMatchesAnyTopicDoesNotIncludeAScopeWithoutTopic() {
		ListenerScope scope = main(Containers.ofPattern("group", ".*"));
		assertThat(scope.includes("group/")).isFalse();
		assertThat(scope.includes("group/a")).isTrue();
	}

	@Test
	void scopeOfTheAnnotationAppliesToATopicPattern() {
		MessageListenerContainer container = Containers.ofPattern("group", "orders-.*");
		ListenerScope scope = new ListenerScope("shop", null, container, container, false, "X.listen");
		assertThat(scope.includes("shop")).isTrue();
		assertThat(scope.includes("group/orders-a")).isFalse();
	}

	@Test
	void tooLongScopeIsRefused() {
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> new ListenerScope("s".repeat(513), null, MAIN, MAIN, false, "X.listen"))
			.withMessageContaining("The scope of the idempotent listener X.listen has 513 characters");
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> main(Containers.of("g".repeat(500), "a-topic-name")));
	}

	@Test
	void groupWithATopicPatternLeavesRoomForTheLongestTopic() {
		assertThatNoException().isThrownBy(() -> main(Containers.ofPattern("g".repeat(262), "a.*")));
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> main(Containers.ofPattern("g".repeat(263), "a.*")));
	}

	@Test
	void groupCanBeParsedFromADefaultScope() {
		assertThat(ListenerScope.group("a/b/orders")).isEqualTo("a/b");
		assertThat(ListenerScope.group("shop")).isNull();
		assertThat(ListenerScope.group("/orders")).isNull();
		assertThat(main(MAIN).isOfGroup("group")).isTrue();
		assertThat(main(MAIN).isOfGroup("other")).isFalse();
	}

	@Test
	void defaultScopesOfOneGroupAndHandlerAreTheSame() {
		ListenerScope scope = main(MAIN);
		assertThat(scope.isSameDefault(main(Containers.of("group", "orders")))).isTrue();
		assertThat(scope.isSameDefault(main(Containers.of("other", "orders")))).isFalse();
		assertThat(scope.isSameDefault(new ListenerScope(null, "created", MAIN, MAIN, false, "Y"))).isFalse();
		assertThat(scope.isSameDefault(new ListenerScope("shop", null, MAIN, MAIN, false, "Y"))).isFalse();
		assertThat(new ListenerScope("shop", null, MAIN, MAIN, false, "Y").isSameDefault(scope)).isFalse();
	}

}
