/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.docs;

import java.security.Principal;
import java.time.Duration;
import java.time.LocalDate;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ProblemDetail;
import org.springframework.http.ResponseEntity;
import org.springframework.http.converter.json.JacksonJsonHttpMessageConverter;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.test.util.ReflectionTestUtils;
import org.springframework.test.web.servlet.assertj.MockMvcTester;
import org.springframework.test.web.servlet.assertj.MvcTestResult;
import org.springframework.web.method.annotation.ExceptionHandlerMethodResolver;

import dev.idempotency.IdempotencyFingerprintUnusableException;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyKeyMissingException;
import dev.idempotency.IdempotencyKeyReusedException;
import dev.idempotency.IdempotencyRecordUnreadableException;
import dev.idempotency.IdempotencyResultUnreadableException;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.IdempotencyVersionStaleException;
import dev.idempotency.IdempotencyVersionUnusableException;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.OperationLostException;
import dev.idempotency.OperationNotAcknowledgedException;
import dev.idempotency.OperationRejectedException;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Runs the examples of {@code docs/template.md} on PostgreSQL.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class TemplateExampleTests {

	private JdbcTemplate jdbc;

	private ConfigurableApplicationContext context;

	private MockMvcTester http;

	@BeforeAll
	void start() {
		String database = Servers.newDatabase();
		this.jdbc = Servers.jdbc(database);
		Page page = Page.of("template.md");
		page.statementsAfter("## A REST endpoint").forEach(this.jdbc::execute);
		page.statementsAfter("## A scheduled job").forEach(this.jdbc::execute);
		this.context = TestApp.of(TransferController.class, IdempotencyProblems.class, StandingOrders.class)
			.database(database)
			.run();
		this.http = MockMvcTester
			.of(List.of(this.context.getBean(TransferController.class)),
					(builder) -> builder.setControllerAdvice(this.context.getBean(IdempotencyProblems.class)).build())
			.withHttpMessageConverters(List.of(new JacksonJsonHttpMessageConverter()));
	}

	@AfterAll
	void stop() {
		this.context.close();
	}

	@Test
	void firstExampleImportsAtMostFourTypesOfTheLibrary() {
		assertThat(Page.of("template.md").blockAfter("The controller").lines())
			.filteredOn((line) -> line.startsWith("import dev.idempotency."))
			.hasSizeBetween(1, 4);
	}

	@Test
	@Tag("promise-8")
	void repeatedRequestGetsTheFirstResponseAndTransfersOnce() {
		String from = account(100);
		MvcTestResult first = transfer("\"once-" + from + "\"", from, 10);
		MvcTestResult second = transfer("once-" + from, from, 10);
		assertThat(first).hasStatus(HttpStatus.CREATED).hasHeader("Idempotent-Replayed", "false");
		assertThat(second).hasStatus(HttpStatus.CREATED).hasHeader("Idempotent-Replayed", "true");
		assertThat(body(second)).isEqualTo(body(first)).contains("\"amount\":10");
		assertThat(balance(from)).isEqualTo(90);
	}

	@Test
	void keyOfAnotherClientIsAnotherOperation() {
		String from = account(100);
		assertThat(transfer("shared-" + from, from, 10)).hasStatus(HttpStatus.CREATED);
		assertThat(transfer("shared-" + from, from, 10, () -> "bob")).hasStatus(HttpStatus.CREATED)
			.hasHeader("Idempotent-Replayed", "false");
		assertThat(balance(from)).isEqualTo(80);
	}

	@Test
	void applicationWithoutAuthenticationTransfersOnce() {
		String from = account(100);
		assertThat(transfer("anonymous-" + from, from, 10, null)).hasStatus(HttpStatus.CREATED);
		assertThat(transfer("anonymous-" + from, from, 10, null)).hasStatus(HttpStatus.CREATED);
		assertThat(balance(from)).isEqualTo(90);
	}

	@Test
	@Tag("promise-9")
	void keyThatIsReusedForAnotherTransferIsRefusedWith422() {
		String from = account(100);
		assertThat(transfer("reused-" + from, from, 10)).hasStatus(HttpStatus.CREATED);
		assertThat(transfer("reused-" + from, from, 20)).hasStatus(HttpStatus.UNPROCESSABLE_CONTENT);
		assertThat(balance(from)).isEqualTo(90);
	}

	@Test
	@Tag("promise-2")
	void requestWhoseKeyIsInProgressIsRefusedWith409() {
		String from = account(100);
		IdempotencyKey key = IdempotencyKey.of("transfers/alice", "running-" + from);
		one(this.context.getBean(IdempotencyTemplate.class).store())
			.claim(new ClaimRequest(key, UUID.randomUUID(), null, Duration.ofMinutes(1), Duration.ofHours(1)));
		assertThat(transfer(key.value(), from, 10)).hasStatus(HttpStatus.CONFLICT).containsHeader("Retry-After");
		assertThat(balance(from)).isEqualTo(100);
	}

	@Test
	@Tag("promise-10")
	void requestWithoutAUsableKeyIsRefusedWith400() {
		String from = account(100);
		assertThat(transfer(null, from, 10)).hasStatus(HttpStatus.BAD_REQUEST);
		assertThat(transfer(" ", from, 10)).hasStatus(HttpStatus.BAD_REQUEST)
			.bodyJson()
			.extractingPath("detail")
			.isEqualTo(
					"The header Idempotency-Key is missing or unusable. Send up to 512 characters that identify this request.");
	}

	@Test
	void refusalHasTheStatusOfItsReasonAlsoForADuplicate() {
		String from = account(5);
		assertThat(transfer("poor-" + from, from, 10)).hasStatus(HttpStatus.PAYMENT_REQUIRED);
		this.jdbc.update("UPDATE account SET balance = 100 WHERE id = ?", from);
		assertThat(transfer("poor-" + from, from, 10)).hasStatus(HttpStatus.PAYMENT_REQUIRED);
		assertThat(balance(from)).isEqualTo(100);
	}

	@Test
	void everyExceptionOfTheLibraryHasAStatus() {
		RuntimeException reason = new IllegalStateException("reason");
		Map<RuntimeException, Integer> statuses = Map.ofEntries(
				Map.entry(new OperationInProgressException("message", Duration.ofSeconds(2)), 409),
				Map.entry(new OperationLostException("message", null), 409),
				Map.entry(new IdempotencyStoreUnavailableException("message", null), 503),
				Map.entry(new IdempotencyStoreRefusedException("message", null), 500),
				Map.entry(new IdempotencyRecordUnreadableException("message", null), 500),
				Map.entry(new OperationNotAcknowledgedException("message"), 500),
				Map.entry(new IdempotencyKeyMissingException("message", null), 400),
				Map.entry(new IdempotencyKeyReusedException("message"), 422),
				Map.entry(new IdempotencyVersionStaleException("message"), 409),
				Map.entry(new IdempotencyVersionUnusableException("message", null), 500),
				Map.entry(new IdempotencyFingerprintUnusableException("message", reason), 500),
				Map.entry(new IdempotencyResultUnreadableException("message", reason), 500),
				Map.entry(new OperationDeclinedException("account closed"), 410));
		assertThat(statuses.keySet()).extracting(Object::getClass)
			.containsAll(Stream
				.of(OperationBlockedException.class.getPermittedSubclasses(),
						OperationRejectedException.class.getPermittedSubclasses())
				.flatMap(Stream::of)
				.collect(Collectors.toSet()));
		assertThat(statuses).allSatisfy((ex, status) -> assertThat(statusOf(ex)).as(ex.toString()).isEqualTo(status));
	}

	private int statusOf(RuntimeException ex) {
		IdempotencyProblems problems = this.context.getBean(IdempotencyProblems.class);
		Object response = ReflectionTestUtils.invokeMethod(problems,
				new ExceptionHandlerMethodResolver(IdempotencyProblems.class).resolveMethod(ex).getName(), ex);
		return (response instanceof ResponseEntity<?> entity) ? entity.getStatusCode().value()
				: ((ProblemDetail) response).getStatus();
	}

	@Test
	@Tag("promise-2")
	@Tag("promise-3")
	void jobThatRunsOnTwoInstancesAndAgainExecutesEachOrderOnce() throws Exception {
		String account = account(100);
		this.jdbc.update("INSERT INTO standing_order VALUES ('rent', 25, ?, 10), ('gym', 25, ?, 1)", account, account);
		StandingOrders job = this.context.getBean(StandingOrders.class);
		LocalDate day = LocalDate.of(2026, 11, 25);
		ExecutorService instances = Executors.newFixedThreadPool(4);
		for (Future<?> run : IntStream.range(0, 4).mapToObj((i) -> instances.submit(() -> job.execute(day))).toList()) {
			run.get();
		}
		instances.shutdown();
		job.execute(day);
		assertThat(balance(account)).isEqualTo(89);
		job.execute(day.plusMonths(1));
		assertThat(balance(account)).isEqualTo(78);
	}

	private String account(int balance) {
		String id = Servers.unique("account");
		this.jdbc.update("INSERT INTO account VALUES (?, ?)", id, balance);
		return id;
	}

	private int balance(String account) {
		return this.jdbc.queryForObject("SELECT balance FROM account WHERE id = ?", Integer.class, account);
	}

	private MvcTestResult transfer(String key, String from, int amount) {
		return transfer(key, from, amount, () -> "alice");
	}

	private MvcTestResult transfer(String key, String from, int amount, Principal client) {
		var request = this.http.post()
			.uri("/transfers")
			.contentType(MediaType.APPLICATION_JSON)
			.content("{\"from\":\"" + from + "\",\"to\":\"other\",\"amount\":" + amount + "}");
		if (client != null) {
			request.principal(client);
		}
		return ((key != null) ? request.header("Idempotency-Key", key) : request).exchange();
	}

	private static String body(MvcTestResult result) {
		return new String(result.getResponse().getContentAsByteArray());
	}

}
