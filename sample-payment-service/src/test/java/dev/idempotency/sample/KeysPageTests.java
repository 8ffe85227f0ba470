/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.UUID;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.UseMainMethod;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.web.server.LocalServerPort;
import org.springframework.jdbc.core.simple.JdbcClient;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.test.AutoConfigureIdempotencyTools;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the page in a browser. They are skipped when no browser is installed.
 */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT, useMainMethod = UseMainMethod.ALWAYS)
@AutoConfigureIdempotencyTools
class KeysPageTests {

	@LocalServerPort
	private int port;

	@Autowired
	private JdbcClient jdbc;

	@Autowired
	private IdempotencyStore store;

	@BeforeAll
	static void requireBrowser() {
		assumeThat(Browser.executable()).as("Chromium").isPresent();
	}

	@Test
	void stuckKeyIsReleasedByItsButton() throws IOException {
		IdempotencyKey stuck = record("P", null);
		IdempotencyKey failed = record("F", "java.lang.IllegalStateException");
		new PaymentService(this.port).order(50, 0.2);
		try (Browser browser = Browser.open("http://localhost:" + this.port + "/")) {
			awaitText(browser, "#outcomes", "LedgerListener.charge", "StatementListener.apply", "processed",
					"duplicate");
			awaitStatements(browser);
			awaitText(browser, row(stuck), stuck.scope(), "stuck");
			awaitText(browser, row(failed), "failed", "IllegalStateException");
			Files.write(Path.of("target/page.png"), browser.screenshot());
			browser.evaluate("document.querySelector(\"" + row(stuck) + " button\").click()");
			awaitText(browser, "#keys-message", stuck.value(), "released");
			await().until(
					() -> browser.evaluate("document.querySelector(\"" + row(stuck) + "\") === null").booleanValue());
		}
		assertThat(this.store.find(List.of(stuck)).get(stuck).state()).isEqualTo(State.FAILED);
	}

	private IdempotencyKey record(String state, String error) {
		IdempotencyKey key = IdempotencyKey.of("keys-page", UUID.randomUUID().toString());
		this.jdbc.sql("""
				insert into idempotency_record (id, scope, key, state, fence, attempt, token, lease_until, created_at,
				  expires_at, error_type)
				values (:id, :scope, :key, :state::"char", 2, 2, gen_random_uuid(), now() - interval '1 minute', now(),
				  now() + interval '1 day', :error)
				""")
			.param("id", key.id())
			.param("scope", key.scope())
			.param("key", key.value())
			.param("state", state)
			.param("error", error)
			.update();
		return key;
	}

	private static String row(IdempotencyKey key) {
		return "tr[data-key='" + key.value() + "']";
	}

	private static void awaitStatements(Browser browser) {
		await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> {
			assertThat(text(browser, "#statements-applied")).isNotEqualTo("0")
				.isEqualTo(text(browser, "#statements-charges"));
			assertThat(text(browser, "#outbox-pending")).isEqualTo("0");
			assertThat(text(browser, "#statements-doubled")).isEqualTo("0");
			assertThat(text(browser, "#statements-outOfOrder")).isEqualTo("0");
		});
	}

	private static void awaitText(Browser browser, String selector, String... parts) {
		await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> assertThat(text(browser, selector)).contains(parts));
	}

	private static String text(Browser browser, String selector) {
		return browser.evaluate("(document.querySelector(\"" + selector + "\") || {}).innerText || ''").stringValue();
	}

}
