/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.math.BigDecimal;
import java.time.LocalDateTime;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.core.annotation.AliasFor;
import org.springframework.kafka.annotation.DltHandler;
import org.springframework.kafka.annotation.KafkaHandler;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.RetryableTopic;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.messaging.Message;
import org.springframework.messaging.MessageHeaders;
import org.springframework.messaging.handler.annotation.Headers;
import org.springframework.messaging.handler.annotation.Payload;
import org.springframework.scheduling.annotation.Async;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;
import reactor.core.publisher.Flux;

import dev.idempotency.Idempotent;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.Mode;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.OtherContentPolicy;

/**
 * Listeners that do not start, one for each reason.
 */
final class RefusedListeners {

	private RefusedListeners() {
	}

	@Idempotent
	@KafkaListener(topics = "topic")
	@Retention(RetentionPolicy.RUNTIME)
	@interface Listen {

		@AliasFor(annotation = KafkaListener.class)
		String groupId() default "group";

		@AliasFor(annotation = KafkaListener.class)
		String batch() default "";

		@AliasFor(annotation = KafkaListener.class)
		String containerFactory() default "";

		@AliasFor(annotation = KafkaListener.class)
		String containerPostProcessor() default "";

		@AliasFor(annotation = KafkaListener.class)
		String[] properties() default {};

		@AliasFor(annotation = Idempotent.class)
		String key() default "";

		@AliasFor(annotation = Idempotent.class)
		String scope() default "";

		@AliasFor(annotation = Idempotent.class)
		String version() default "";

		@AliasFor(annotation = Idempotent.class)
		String fingerprint() default "";

		@AliasFor(annotation = Idempotent.class)
		Mode mode() default Mode.AUTO;

		@AliasFor(annotation = Idempotent.class)
		Class<? extends Throwable>[] declineFor() default {};

		@AliasFor(annotation = Idempotent.class)
		MissingKeyPolicy onMissingKey() default MissingKeyPolicy.DEFAULT;

	}

	static class PrivateMethod {

		@Listen
		private void listen(String value) {
		}

	}

	static class FinalMethod {

		@Listen
		final void listen(String value) {
		}

	}

	static final class FinalClass {

		@Listen
		void listen(String value) {
		}

	}

	static class AsyncMethod {

		@Async
		@Listen
		void listen(String value) {
		}

	}

	static class Share {

		@Listen(containerFactory = "share")
		void listen(String value) {
		}

	}

	static class Own {

		@Listen(containerFactory = "own")
		void listen(String value) {
		}

	}

	static class NoGroup {

		@Listen(groupId = "")
		void listen(String value) {
		}

	}

	static class AutoCommitting {

		@Listen(properties = "enable.auto.commit=true")
		void listen(String value) {
		}

	}

	static class TransactionalContainer {

		@Listen(containerPostProcessor = "transactions")
		void listen(String value) {
		}

	}

	static class FixedOffsets {

		@Listen(containerPostProcessor = "fixedOffsets")
		void listen(String value) {
		}

	}

	static class AutoCommittingContainer {

		@Listen(containerPostProcessor = "autoCommit")
		void listen(String value) {
		}

	}

	static class NestedSum {

		@Listen(key = "(#payload.a + ':' + #payload.b).toLowerCase()")
		void listen(String value) {
		}

	}

	static class RequiresNew {

		@Transactional(propagation = Propagation.REQUIRES_NEW)
		@Listen
		void listen(String value) {
		}

	}

	static class ReadOnly {

		@Transactional(readOnly = true)
		@Listen
		void listen(String value) {
		}

	}

	static class Leased {

		@Listen(mode = Mode.LEASED)
		void listen(String value) {
		}

	}

	static class TransactionalMode {

		@Listen(mode = Mode.TRANSACTIONAL)
		void listen(String value) {
		}

	}

	static class AllExceptions {

		@Listen(declineFor = RuntimeException.class)
		void listen(String value) {
		}

	}

	static class BlockedExceptions {

		@Listen(declineFor = OperationInProgressException.class)
		void listen(String value) {
		}

	}

	static class Quoted {

		@Listen(key = "'#payload.id'")
		void listen(String value) {
		}

	}

	static class Constant {

		@Listen(key = "42")
		void listen(String value) {
		}

	}

	static class WithoutHash {

		@Listen(key = "payload.paymentId")
		void listen(String value) {
		}

	}

	static class OfValue {

		@Listen(key = "#{#payload.id}")
		void listen(String value) {
		}

	}

	static class RejectsUndeclared {

		@Idempotent(onOtherContent = OtherContentPolicy.REJECT)
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	static class IgnoresDeclared {

		@Idempotent(fingerprint = "#payload", onOtherContent = OtherContentPolicy.IGNORE)
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	static class WithoutKey {

		@Listen(version = "#record.offset()")
		void listen(String value) {
		}

	}

	static class Fraction {

		@Listen(key = "#record.key()", version = "#payload.fraction")
		void listen(@Payload Change payload) {
		}

	}

	static class Local {

		@Listen(key = "#record.key()", version = "#payload.local")
		void listen(@Payload Change payload) {
		}

	}

	static class ManualBatch {

		@Listen(key = "#record.key()", version = "#record.offset()", batch = "true")
		void listen(List<String> values, Acknowledgment acknowledgment) {
		}

	}

	static class Interfaces {

		@Listen
		Answer listen(String value) {
			return () -> value;
		}

	}

	static class AbstractClasses {

		@Listen
		AbstractAnswer listen(String value) {
			throw new UnsupportedOperationException();
		}

	}

	static class Unconstructibles {

		@Listen
		UnconstructibleAnswer listen(String value) {
			return new UnconstructibleAnswer(value, value);
		}

	}

	static class FutureInterfaces {

		@Listen
		CompletableFuture<Answer> listen(String value) {
			return CompletableFuture.completedFuture(() -> value);
		}

	}

	static class OptionalInterfaces {

		@Listen
		Optional<Answer> listen(String value) {
			return Optional.of(() -> value);
		}

	}

	static class Messages {

		@Listen
		Message<String> listen(Message<String> message) {
			return message;
		}

	}

	static class Futures {

		@Listen
		CompletableFuture<Void> listen(String value) {
			return CompletableFuture.completedFuture(null);
		}

	}

	static class TransactionalFutures {

		@Listen(mode = Mode.TRANSACTIONAL)
		CompletableFuture<Void> listen(String value) {
			return CompletableFuture.completedFuture(null);
		}

	}

	static class PlainFutures {

		@Listen
		Future<String> listen(String value) {
			return CompletableFuture.completedFuture(value);
		}

	}

	static class Stages {

		@Listen
		CompletionStage<String> listen(String value) {
			return CompletableFuture.completedStage(value);
		}

	}

	static class Fluxes {

		@Listen
		Flux<String> listen(String value) {
			return Flux.just(value);
		}

	}

	static class FutureMessages {

		@Listen
		CompletableFuture<Message<String>> listen(Message<String> message) {
			return CompletableFuture.completedFuture(message);
		}

	}

	static class OneMessage {

		@Listen(batch = "true")
		void listen(Message<List<String>> message) {
		}

	}

	static class AllHeaders {

		@Listen(batch = "true")
		void listen(@Headers Map<String, Object> headers, List<String> values) {
		}

	}

	static class HeadersOfMessage {

		@Listen(batch = "true")
		void listen(MessageHeaders headers, List<String> values) {
		}

	}

	static class AnyCollection {

		@Listen(batch = "true")
		void listen(Collection<String> values) {
		}

	}

	static class Array {

		@Listen(batch = "true")
		void listen(String[] values) {
		}

	}

	static class OneRecord {

		@Listen(batch = "true")
		void listen(ConsumerRecord<String, String> record) {
		}

	}

	static class NoRecords {

		@Listen(batch = "true")
		void listen(Acknowledgment acknowledgment) {
		}

	}

	static class OneResult {

		@Listen(batch = "true")
		String listen(List<String> values) {
			return "";
		}

	}

	static class OneFuture {

		@Listen(batch = "true")
		CompletableFuture<Void> listen(List<String> values) {
			return CompletableFuture.completedFuture(null);
		}

	}

	static class BatchMessages {

		@Listen(batch = "true")
		List<Message<?>> listen(List<Message<String>> messages) {
			return List.copyOf(messages);
		}

	}

	static class OwnFilter {

		@Listen(batch = "true", containerFactory = "filtering")
		void listen(List<String> values) {
		}

	}

	static class OffsetFutures {

		@Listen(onMissingKey = MissingKeyPolicy.OFFSET)
		CompletableFuture<Void> listen(String value) {
			return CompletableFuture.completedFuture(null);
		}

	}

	static class OffsetLeased {

		@Listen(onMissingKey = MissingKeyPolicy.OFFSET, mode = Mode.LEASED)
		void listen(String value) {
		}

	}

	static class OffsetResults {

		@Listen(onMissingKey = MissingKeyPolicy.OFFSET)
		String listen(String value) {
			return value;
		}

	}

	static class OffsetBatches {

		@Listen(onMissingKey = MissingKeyPolicy.OFFSET, batch = "true")
		List<String> listen(List<String> values) {
			return values;
		}

	}

	static class OffsetRetried {

		@RetryableTopic(attempts = "3", autoCreateTopics = "false")
		@Listen(onMissingKey = MissingKeyPolicy.OFFSET)
		void listen(String value) {
		}

	}

	static class OffsetAsyncAcks {

		@Listen(onMissingKey = MissingKeyPolicy.OFFSET, containerPostProcessor = "asyncAcks")
		void listen(String value, Acknowledgment acknowledgment) {
		}

	}

	static class OffsetFingerprint {

		@Listen(onMissingKey = MissingKeyPolicy.OFFSET, fingerprint = "#payload")
		void listen(String value) {
		}

	}

	static class OffsetDead {

		@RetryableTopic(attempts = "3", autoCreateTopics = "false")
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

		@DltHandler
		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET)
		void dead(String value) {
		}

	}

	static class OffsetShared {

		@Listen(onMissingKey = MissingKeyPolicy.OFFSET, scope = "shared")
		void listen(String value) {
		}

		@Listen(onMissingKey = MissingKeyPolicy.OFFSET, scope = "shared", groupId = "other")
		void other(String value) {
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

	@KafkaListener(topics = "topic", groupId = "group")
	static class MixedSiblings {

		@Idempotent
		@KafkaHandler
		void now(String value) {
		}

		@KafkaHandler
		CompletableFuture<Void> later(Integer value) {
			return CompletableFuture.completedFuture(null);
		}

	}

	@Idempotent
	@KafkaListener(topics = "topic", groupId = "group")
	static class Overloaded {

		@KafkaHandler
		void handle(String value) {
		}

		@KafkaHandler
		void handle(Integer value) {
		}

	}

	@Idempotent(condition = "#value != 'skip'")
	static class ClassCondition {

		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

		@KafkaListener(topics = "other", groupId = "group")
		void other(Integer number) {
		}

	}

	interface Listener {

		void listen(String value);

	}

	static final class FinalClassWithInterface implements Listener {

		@Listen
		@Override
		public void listen(String value) {
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

	record Change(BigDecimal number, double fraction, LocalDateTime local) {

	}

}
