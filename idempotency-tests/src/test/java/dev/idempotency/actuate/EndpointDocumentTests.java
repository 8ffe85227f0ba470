/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.actuate;

import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.kafka.annotation.KafkaListener;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.NotIdempotent;
import dev.idempotency.reconcile.Reconciliation;
import dev.idempotency.reconcile.ReconciliationReport.State;
import dev.idempotency.store.Fingerprint;
import dev.idempotency.store.OffsetMark;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.IdempotentOperation;
import dev.idempotency.template.ResultCodec;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Runs the commands of {@code docs/endpoint.md} one after the other and compares the
 * answers with those of the document. With {@code -Dtest.write-docs} the answers are
 * written to the document instead.
 */
class EndpointDocumentTests {

	private static final Path DOCUMENT = Path.of("../docs/endpoint.md");

	private static final Pattern BLOCK = Pattern.compile("```console\n\\$ (curl (?:.*\\\\\n)*.*)\n[^`]*```");

	private static final Pattern URL = Pattern.compile("localhost:8080" + EndpointApp.PATH + "([^' \n]*)");

	private static final Pattern DATA = Pattern.compile("-d '([^']*)'");

	private static final int WIDTH = 116;

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	@Test
	void answersEqualThoseOfTheDocument() throws IOException {
		String document = Files.readString(DOCUMENT);
		try (EndpointApp app = EndpointApp.withOutbox(database,
				TestApp.of(Ledger.class).with("spring.kafka.listener.auto-startup", false), "access=unrestricted")) {
			prepare(app);
			String run = BLOCK.matcher(document).replaceAll((block) -> Matcher.quoteReplacement(run(app, block)));
			if (System.getProperty("test.write-docs") != null) {
				Files.writeString(DOCUMENT, run);
				return;
			}
			assertThat(run).as("docs/endpoint.md. Run with -Dtest.write-docs to write it").isEqualTo(document);
		}
	}

	@Test
	void everyOperationIsDocumented() throws IOException {
		String commands = BLOCK.matcher(Files.readString(DOCUMENT))
			.results()
			.map((block) -> block.group(1))
			.collect(Collectors.joining("\n"));
		assertThat(URL.matcher(commands).results().map((url) -> url.group(1).replaceAll("\\?.*", "")).distinct())
			.containsExactlyInAnyOrder("", "/record", "/stuck", "/failed", "/release", "/evict", "/evict-all",
					"/offsets", "/offsets/lower", "/listeners", "/other-content", "outbox", "outbox/dead-letters",
					"outbox/retry", "outbox/discard", "reconciliation", "reconciliation/findings");
	}

	private static void prepare(EndpointApp app) {
		Servers.addTopics(1, Ledger.TOPIC);
		List.of("payment/6", "payment/7", "payment/8", "payment/9")
			.forEach((key) -> Kafka.send(Ledger.TOPIC, key, "card 4711"));
		Kafka.commit(Ledger.GROUP, Ledger.TOPIC, 3);
		app.completed(IdempotencyKey.of("ledger", "payment/6"));
		app.failed(IdempotencyKey.of("ledger", "payment/7"));
		app.completed(IdempotencyKey.of("ledger", "payment/1"));
		app.failed(IdempotencyKey.of("ledger", "payment/2"));
		app.failed(IdempotencyKey.of("ledger", "payment/2"));
		app.stuck(IdempotencyKey.of("ledger", "payment/3"));
		app.claimed(IdempotencyKey.of("ledger", "payment/4"));
		app.completed(IdempotencyKey.of("mail", "order/1"));
		send(app, "order/2", 7, "reserve");
		send(app, "order/2", 8, "confirm");
		app.mark(new OffsetMark("stock/movements", "movements", new UUID(1, 2), 0, 1999));
		app.deadLetter(UUID.fromString("0199e7a1-5f00-7000-8000-000000000004"));
		app.deadLetter(UUID.fromString("0199e7a1-5f00-7000-8000-000000000005"));
		app.deadLetter(UUID.fromString("0199e7a1-5f00-7000-8000-000000000001"));
		app.deadLetter(UUID.fromString("0199e7a1-5f00-7000-8000-000000000002"));
		app.send(UUID.fromString("0199e7a1-5f00-7000-8000-000000000003"));
	}

	private static void send(EndpointApp app, String key, int offset, String content) {
		app.context()
			.getBean(IdempotencyTemplate.class)
			.execute(new IdempotentOperation(IdempotencyKey.of("mail", key), "Mail.send",
					"listener Mail.send, topic orders, partition 0, offset " + offset, Mode.TRANSACTIONAL,
					Fingerprint.ofReported(1, content.getBytes(StandardCharsets.UTF_8)), Duration.ofSeconds(30),
					Duration.ofDays(7), null, null), ResultCodec.none(), () -> null);
	}

	private static String run(EndpointApp app, MatchResult block) {
		String command = block.group(1);
		Matcher url = URL.matcher(command);
		assertThat(url.find()).as(command).isTrue();
		Matcher data = DATA.matcher(command);
		HttpResponse<String> answer = data.find() ? app.post(url.group(1), data.group(1)) : app.get(url.group(1));
		awaitReconciliation(app);
		answer = answer.body().contains("\"run\"") ? app.get(url.group(1)) : answer;
		return "```console\n$ " + command + "\n" + masked(answer.body()) + "\n```";
	}

	private static void awaitReconciliation(EndpointApp app) {
		Reconciliation reconciliation = app.context().getBean(Reconciliation.class);
		Awaitility.await()
			.atMost(Duration.ofSeconds(30))
			.until(() -> reconciliation.report() == null || reconciliation.report().state() != State.RUNNING);
	}

	// Replaces the values that differ between runs.
	private static String masked(String json) {
		if (!json.startsWith("{")) {
			return json.strip().replace("\r", "").replaceAll("\\d{4}-\\d\\d-\\d\\dT[0-9:.]+Z", "<time>");
		}
		return folded(JsonMapper.shared()
			.readTree(json.replaceAll("\\d{4}-\\d\\d-\\d\\dT[0-9:.]+Z", "<time>")
				.replaceAll("<time>_[0-9a-f-]{36}", "<position>")
				.replaceAll("\"PT[0-9HMS.]+\"", "\"<duration>\"")), "");
	}

	// Writes a node on one line if it fits.
	private static String folded(JsonNode node, String indent) {
		String line = node.toString().replaceAll("([,:])(?=[\"\\[{\\dtfn])", "$1 ");
		if (node.isValueNode() || line.length() + indent.length() <= WIDTH) {
			return line;
		}
		String next = indent + "  ";
		Stream<String> parts = node.isArray() ? node.valueStream().map((value) -> folded(value, next))
				: node.propertyStream().map((field) -> '"' + field.getKey() + "\": " + folded(field.getValue(), next));
		return (node.isArray() ? "[" : "{") + filled(parts.toList(), next) + "\n" + indent
				+ (node.isArray() ? "]" : "}");
	}

	// Writes as many parts on a line as fit.
	private static String filled(List<String> parts, String indent) {
		StringBuilder text = new StringBuilder();
		int room = 0;
		for (int i = 0; i < parts.size(); i++) {
			String part = parts.get(i) + ((i < parts.size() - 1) ? "," : "");
			boolean fits = !part.contains("\n") && part.length() < room;
			text.append(fits ? " " : "\n" + indent).append(part);
			room = part.contains("\n") ? 0 : (fits ? room : WIDTH - indent.length()) - part.length() - 1;
		}
		return text.toString();
	}

	static class Ledger {

		static final String TOPIC = "ledger-payments";

		static final String GROUP = "ledger-service";

		@Idempotent(scope = "ledger")
		@KafkaListener(id = "ledger", idIsGroup = false, topics = TOPIC, groupId = GROUP)
		void charge(String payment) {
		}

		@NotIdempotent("each record replaces the price")
		@KafkaListener(id = "prices", idIsGroup = false, topics = "prices", groupId = GROUP)
		void price(String price) {
		}

	}

}
