/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.ledger;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.stream.Stream;

import org.apache.kafka.clients.producer.ProducerRecord;
import org.awaitility.core.ConditionTimeoutException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.FieldSource;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.support.KafkaHeaders;
import org.springframework.messaging.support.MessageBuilder;
import org.springframework.test.context.bean.override.mockito.MockitoBean;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.test.DuplicateDeliveries;
import dev.idempotency.test.DuplicateDeliveries.Records;
import dev.idempotency.test.IdempotencyTest;
import dev.idempotency.test.ListenerDeliveries;
import dev.idempotency.test.RecordedDeliveries;
import dev.idempotency.test.StoreFaults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/**
 * Tests for {@link DuplicateDeliveries}. A listener without protection counts what was
 * delivered.
 */
@IdempotencyTest
@Import(EmbeddedDatabase.class)
class DuplicateDeliveriesTests {

	static final Arguments[] WAYS = { Arguments.of("sendTwice", (Consumer<Records>) Records::sendTwice, 2),
			Arguments.of("atOnce", (Consumer<Records>) (records) -> records.atOnce(6), 6),
			Arguments.of("outOfOrder", (Consumer<Records>) Records::outOfOrder, 2),
			Arguments.of("afterRestart", (Consumer<Records>) Records::afterRestart, 2),
			Arguments.of("redelivered", (Consumer<Records>) Records::redelivered, 2) };

	@Autowired
	DuplicateDeliveries duplicates;

	@Autowired
	RecordedDeliveries deliveries;

	@Autowired
	StoreFaults faults;

	@Autowired
	NaiveListener naive;

	@Autowired
	JdbcTemplate jdbc;

	@Autowired
	KafkaListenerEndpointRegistry registry;

	@Autowired
	IdempotencyStore store;

	@MockitoBean
	CardGateway gateway;

	private final PaymentCommand payment = payment();

	private static PaymentCommand payment() {
		String id = UUID.randomUUID().toString();
		return new PaymentCommand(id, "account of " + id, 7);
	}

	@BeforeEach
	void openAccount() {
		this.jdbc.update("INSERT INTO account (id, balance) VALUES (?, 100)", this.payment.account());
	}

	private Integer balance() {
		return this.jdbc.queryForObject("SELECT balance FROM account WHERE id = ?", Integer.class,
				this.payment.account());
	}

	@ParameterizedTest(name = "{0}")
	@FieldSource("WAYS")
	void duplicatesHaveEndedInAllListenersWhenTheMethodReturns(String name, Consumer<Records> way, int delivered) {
		way.accept(this.duplicates.of("payments", this.payment.paymentId(), this.payment));
		assertThat(this.naive.deliveries(this.payment)).isEqualTo(delivered);
		assertThat(balance()).isEqualTo(93);
		assertThat(this.deliveries.of("LedgerListener.charge")).processedOnce(this.payment.paymentId())
			.duplicates(this.payment.paymentId(), delivered - 1)
			.isCompleted(this.payment.paymentId());
	}

	@Test
	void recordsAreDeliveredInReverseOrderFirst() {
		PaymentCommand second = payment();
		this.duplicates.of(record(this.payment), record(second)).outOfOrder();
		assertThat(this.deliveries.all()
			.stream()
			.filter((execution) -> execution.listener().startsWith("LedgerListener"))
			.map((execution) -> execution.key().value() + " " + execution.outcome())
			.filter((text) -> text.startsWith(this.payment.paymentId()) || text.startsWith(second.paymentId())))
			.containsExactly(second.paymentId() + " PROCESSED", this.payment.paymentId() + " PROCESSED",
					this.payment.paymentId() + " DUPLICATE", second.paymentId() + " DUPLICATE");
	}

	private static ProducerRecord<String, PaymentCommand> record(PaymentCommand payment) {
		ProducerRecord<String, PaymentCommand> record = new ProducerRecord<>("payments", "ACC-01", payment);
		record.headers().add("Idempotency-Key", payment.paymentId().getBytes(StandardCharsets.UTF_8));
		return record;
	}

	@Test
	void messageIsConverted() {
		this.duplicates
			.of(MessageBuilder.withPayload(this.payment)
				.setHeader(KafkaHeaders.TOPIC, "payments")
				.setHeader("Idempotency-Key", this.payment.paymentId())
				.build())
			.sendTwice();
		assertThat(balance()).isEqualTo(93);
		assertThat(this.naive.deliveries(this.payment)).isEqualTo(2);
	}

	@Test
	void timeoutSaysWhichListenerHasNotEnded() {
		try (StoreFaults.Fault outage = this.faults.unavailable()) {
			DuplicateDeliveries impatient = this.duplicates.within(Duration.ofSeconds(1));
			assertThatExceptionOfType(ConditionTimeoutException.class)
				.isThrownBy(() -> impatient.of("payments", this.payment.paymentId(), this.payment).sendTwice())
				.withMessageContaining("The delivery of the record payments-")
				.withMessageContaining("its group 'ledger' has committed");
			assertThat(outage.hits()).isPositive();
		}
		// The next test begins when the record has ended.
		assertThat(this.deliveries.of(LedgerListener.class)).hasOutcome(this.payment.paymentId(), Outcome.PROCESSED, 1);
	}

	@Test
	void slowStoreDelaysADelivery() {
		long start = System.nanoTime();
		try (StoreFaults.Fault slow = this.faults.slow(Duration.ofMillis(300))) {
			this.duplicates.of("payments", this.payment.paymentId(), this.payment).send();
			this.duplicates.awaitEnded();
			assertThat(slow.hits()).isPositive();
		}
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThan(Duration.ofMillis(300));
		assertThat(balance()).isEqualTo(93);
	}

	@Test
	void topicWithoutListenerIsRefused() {
		assertThatIllegalStateException().isThrownBy(() -> this.duplicates.of("nobody", "k", this.payment).sendTwice())
			.withMessageContaining("No running listener of this context reads the topic 'nobody'");
	}

	@Test
	void copiesForASingleThreadAreRefused() {
		assertThatIllegalStateException().isThrownBy(() -> this.duplicates.of("single", "k", this.payment).atOnce(2))
			.withMessageContaining("have one thread");
	}

	@Test
	void unknownKeyCannotBeForgotten() {
		assertThatIllegalArgumentException().isThrownBy(() -> this.faults.forget("typo"))
			.withMessageContaining("no listener of this context has claimed it");
	}

	@Test
	void listenerThatHasStoppedEndsTheWait() {
		MessageListenerContainer stopped = this.registry.getListenerContainer("naive");
		this.duplicates.of("payments", this.payment.paymentId(), this.payment).send();
		stopped.stop();
		try {
			assertThatIllegalStateException().isThrownBy(this.duplicates::awaitEnded)
				.withMessageContaining("The listener 'naive' has stopped");
		}
		finally {
			stopped.start();
		}
		this.duplicates.awaitEnded();
		assertThat(this.naive.deliveries(this.payment)).isOne();
	}

	@Test
	void assertionAboutAListenerThatDoesNotExistFails() {
		this.duplicates.of("payments", this.payment.paymentId(), this.payment).sendTwice();
		assertThatNoListener(this.deliveries.of("LedgerListener.chrage"));
		assertThatNoListener(this.deliveries.of(NaiveListener.class));
	}

	private void assertThatNoListener(ListenerDeliveries unknown) {
		assertThatExceptionOfType(AssertionError.class)
			.isThrownBy(() -> assertThat(unknown).isCompleted(this.payment.paymentId()))
			.withMessageContainingAll("There is no idempotent listener " + unknown, "GatewayListener.charge",
					"LedgerListener.charge");
		assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertThat(unknown).isUnknown("a"));
	}

	@Test
	void assertionAboutADeliveryThatDoesNotExistFails() {
		this.duplicates.of("payments", this.payment.paymentId(), this.payment).sendTwice();
		ListenerDeliveries never = this.deliveries.of(GatewayListener.class);
		ListenerDeliveries ledger = this.deliveries.of(LedgerListener.class);
		List<CompletableFuture<?>> assertions = Stream
			.<Runnable>of(() -> assertThat(never).isCompleted(this.payment.paymentId()),
					() -> assertThat(ledger).duplicates("typo", 0))
			.<CompletableFuture<?>>map(CompletableFuture::runAsync)
			.toList();
		assertThat(assertions)
			.allSatisfy((assertion) -> assertThatThrownBy(assertion::join).hasRootCauseInstanceOf(AssertionError.class)
				.hasMessageContaining("no delivery of the key has ended"));
		assertThat(ledger).isUnknown("typo");
	}

	@Test
	void keyThatAnotherProcessHasStoredIsNotUnknown() {
		this.duplicates.of("payments", this.payment.paymentId(), this.payment).sendTwice();
		String other = UUID.randomUUID().toString();
		IdempotencyStore direct = (IdempotencyStore) Objects
			.requireNonNull(AopProxyUtils.getSingletonTarget(this.store));
		direct.claim(List.of(new ClaimRequest(IdempotencyKey.of("ledger/payments", other), UUID.randomUUID(), null,
				Duration.ofMinutes(1), Duration.ofHours(1))));
		ListenerDeliveries ledger = this.deliveries.of(LedgerListener.class);
		assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertThat(ledger).isUnknown(other))
			.withMessageContaining("In the store: IN_PROGRESS in the scope 'ledger/payments'");
	}

	@Test
	void failedAssertionSaysWhatWasSeen() {
		this.duplicates.of("payments", this.payment.paymentId(), this.payment).sendTwice();
		String id = this.payment.paymentId();
		assertThatExceptionOfType(AssertionError.class)
			.isThrownBy(() -> assertThat(this.deliveries.of(LedgerListener.class)).duplicates(id, 0))
			.withMessage("Expected no delivery of the key '" + id + "' with the outcome DUPLICATE in the listener "
					+ "LedgerListener.*, but there is 1.%nSeen: PROCESSED (attempt 1), DUPLICATE. In the store: COMPLETED "
					+ "in the scope 'ledger/payments' (fence 1, attempt 1).", new Object[0]);
	}

}
