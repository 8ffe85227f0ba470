/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.stream;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;

import javax.sql.DataSource;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;

import dev.idempotency.Idempotent;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.template.OperationObserver;
import dev.idempotency.template.OperationObserver.Outcome;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Runs functions of Spring Cloud Stream with configurations that contain each pair of
 * levels of their abilities ({@code test.pairs} is their number, {@code test.pairs.seed}
 * selects them), with the same records: copies, failures, declined operations and other
 * content of a key. Each operation takes effect once, exactly the records that always
 * fail or are rejected become dead letters, and each copy sends the same result.
 */
@Tag("storm")
@Tag("promise-1")
@Tag("promise-3")
@Tag("promise-8")
@Execution(ExecutionMode.CONCURRENT)
class FunctionPairTests {

	private static final int IN_EACH_BUILD = 3;

	private static final Map<String, List<String>> FACTORS = new LinkedHashMap<>();

	static {
		FACTORS.put("kind", List.of("function", "consumer"));
		FACTORS.put("mode", List.of("auto", "transactional", "leased"));
		FACTORS.put("store", List.of("jdbc", "in-memory"));
		FACTORS.put("key", List.of("#payload.id", ""));
		FACTORS.put("version", List.of("", "#payload.version"));
		FACTORS.put("fingerprint", List.of("", "#payload.content"));
		FACTORS.put("attempts", List.of("3", "1"));
		FACTORS.put("concurrency", List.of("1", "2"));
		FACTORS.put("transaction", List.of("no", "yes"));
		FACTORS.put("composed", List.of("no", "yes"));
		FACTORS.put("cache", List.of("false", "true"));
		FACTORS.put("declines", List.of("no", "yes"));
	}

	private static final Map<String, Work> WORK = new ConcurrentHashMap<>();

	private static boolean isRefused(Map<String, String> combination) {
		return is(combination, "mode", "transactional")
				&& (is(combination, "store", "in-memory") || is(combination, "transaction", "yes"))
				|| (is(combination, "version", "#payload.version") && is(combination, "key", ""));
	}

	private static boolean is(Map<String, String> combination, String factor, String level) {
		return level.equals(combination.get(factor));
	}

	// Each combination is the best of many random ones.
	static Stream<Map<String, String>> combinations() {
		Random random = new Random(Long.getLong("test.pairs.seed", 1));
		List<Map<String, String>> candidates = Stream.generate(() -> {
			Map<String, String> candidate = new TreeMap<>();
			FACTORS.forEach((factor, levels) -> candidate.put(factor, levels.get(random.nextInt(levels.size()))));
			return candidate;
		}).limit(20_000).filter((candidate) -> !isRefused(candidate)).toList();
		Set<String> missing = new LinkedHashSet<>();
		candidates.forEach((candidate) -> missing.addAll(pairs(candidate)));
		List<Map<String, String>> chosen = new ArrayList<>();
		while (!missing.isEmpty()) {
			Map<String, String> best = candidates.get(0);
			long most = -1;
			for (Map<String, String> candidate : candidates) {
				long count = pairs(candidate).stream().filter(missing::contains).count();
				if (count > most) {
					most = count;
					best = candidate;
				}
			}
			chosen.add(best);
			missing.removeAll(pairs(best));
		}
		return chosen.stream().limit(Integer.getInteger("test.pairs", IN_EACH_BUILD));
	}

	private static List<String> pairs(Map<String, String> combination) {
		List<String> pairs = new ArrayList<>();
		combination.forEach((one, level) -> combination.forEach((other, second) -> {
			if (one.compareTo(other) < 0) {
				pairs.add(one + "=" + level + "," + other + "=" + second);
			}
		}));
		return pairs;
	}

	@ParameterizedTest
	@MethodSource("combinations")
	void everyPairOfAbilitiesKeepsItsPromises(Map<String, String> combination) {
		String topic = "pair-" + UUID.randomUUID().toString().substring(0, 8);
		StreamApp.createTopic(topic, 2);
		Work work = new Work(combination);
		WORK.put(topic, work);
		send(topic, combination);
		List<String> properties = properties(topic, combination);
		try (StreamApp app = StreamApp.start(Functions.class, List.of(), properties.toArray(String[]::new))) {
			work.jdbc = app.bean(JdbcTemplate.class);
			await().untilAsserted(() -> assertThat(work.effects()).containsAll(List.of("a", "b", "once", "last")));
			send(topic, combination);
			StreamApp.send(topic, "end", record("end", "x", 1, "normal"));
			await().untilAsserted(() -> assertThat(work.effects()).contains("end"));
			await().untilAsserted(() -> checkDeadLetters(topic, combination));
			List<String> expected = new ArrayList<>(List.of("a", "b", "end", "last", "once"));
			assertThat(work.effects().stream().sorted()).as("effects of %s", combination).isEqualTo(expected);
			assertThat(work.outcomes).as("outcomes of %s", combination)
				.doesNotContain(Outcome.LOST, Outcome.UNREADABLE, Outcome.REFUSED, Outcome.UNAVAILABLE,
						Outcome.UNPROTECTED);
			if (is(combination, "kind", "function")) {
				Map<String, Set<String>> replies = new HashMap<>();
				StreamApp.read(topic + "-out", 12, Duration.ofSeconds(3))
					.forEach((reply) -> replies.computeIfAbsent(id(reply), (id) -> new LinkedHashSet<>()).add(reply));
				assertThat(replies).as("replies of %s", combination).containsKeys("a", "b", "last");
				assertThat(replies.values()).allMatch((different) -> different.size() == 1);
			}
		}
		finally {
			WORK.remove(topic);
		}
	}

	private static void checkDeadLetters(String topic, Map<String, String> combination) {
		List<String> ids = StreamApp.read("error." + topic + ".test", 100, Duration.ofSeconds(1))
			.stream()
			.map(FunctionPairTests::id)
			.toList();
		assertThat(ids).as("dead letters of %s", combination)
			.isSubsetOf("always", is(combination, "fingerprint", "") ? "always" : "b",
					is(combination, "attempts", "1") ? "once" : "always");
		assertThat(Collections.frequency(ids, "always")).isEqualTo(2);
		assertThat(Collections.frequency(ids, "once")).isEqualTo(is(combination, "attempts", "1") ? 1 : 0);
		assertThat(ids.contains("b")).isEqualTo(!is(combination, "fingerprint", ""));
	}

	private static String id(String json) {
		return json.replaceAll(".*\"id\":\"([^\"]*)\".*", "$1");
	}

	private static List<String> properties(String topic, Map<String, String> combination) {
		String kind = combination.get("kind");
		String definition = is(combination, "composed", "yes") ? "checked|" + kind : kind;
		String binding = "spring.cloud.stream.bindings." + definition.replace("|", "");
		String kafka = "spring.cloud.stream.kafka.bindings." + definition.replace("|", "");
		List<String> properties = new ArrayList<>(List.of("spring.cloud.function.definition=" + definition,
				binding + "-in-0.destination=" + topic, binding + "-in-0.group=test",
				binding + "-in-0.consumer.max-attempts=" + combination.get("attempts"),
				binding + "-in-0.consumer.concurrency=" + combination.get("concurrency"),
				kafka + "-in-0.consumer.enable-dlq=true", "pair.topic=" + topic, "pair.key=" + combination.get("key"),
				"pair.version=" + combination.get("version"), "pair.fingerprint=" + combination.get("fingerprint"),
				"idempotency.mode=" + combination.get("mode"), "idempotency.store.type=" + combination.get("store"),
				"idempotency.cache.enabled=" + combination.get("cache")));
		if (is(combination, "kind", "function")) {
			properties.add(binding + "-out-0.destination=" + topic + "-out");
			properties.add(kafka + "-out-0.producer.sync=true");
		}
		if (is(combination, "transaction", "yes")) {
			properties.add("spring.cloud.stream.kafka.binder.transaction.transaction-id-prefix=" + topic + "-");
			properties.add("spring.cloud.stream.kafka.binder.required-acks=all");
		}
		return properties;
	}

	private static void send(String topic, Map<String, String> combination) {
		StreamApp.send(topic, "a", record("a", "x", 1, "normal"));
		StreamApp.send(topic, "a", record("a", "x", 1, "normal"));
		StreamApp.send(topic, "once", record("once", "x", 1, "once"));
		StreamApp.send(topic, "b", record("b", "x", 1, "normal"));
		StreamApp.send(topic, "always", record("always", "x", 1, "always"));
		StreamApp.send(topic, "once", record("once", "x", 1, "once"));
		if (!is(combination, "fingerprint", "")) {
			StreamApp.send(topic, "b", record("b", "other", 1, "normal"));
		}
		if (is(combination, "declines", "yes")) {
			StreamApp.send(topic, "declined", record("declined", "x", 1, "declined"));
			StreamApp.send(topic, "declined", record("declined", "x", 1, "declined"));
		}
		StreamApp.send(topic, "last", record("last", "x", 1, "normal"));
	}

	private static String record(String id, String content, long version, String kind) {
		return "{\"id\":\"" + id + "\",\"content\":\"" + content + "\",\"version\":" + version + ",\"kind\":\"" + kind
				+ "\"}";
	}

	/**
	 * The work of a function.
	 */
	private static final class Work {

		private final Map<String, String> combination;

		private final Map<String, AtomicInteger> starts = new ConcurrentHashMap<>();

		private final ConcurrentLinkedQueue<Outcome> outcomes = new ConcurrentLinkedQueue<>();

		private volatile @Nullable JdbcTemplate jdbc;

		Work(Map<String, String> combination) {
			this.combination = combination;
		}

		List<String> effects() {
			return this.jdbc.queryForList("SELECT id FROM pair_effect", String.class);
		}

		Request run(Request request, JdbcTemplate own) {
			int start = this.starts.computeIfAbsent(request.id(), (id) -> new AtomicInteger()).incrementAndGet();
			if (request.kind().equals("declined")) {
				throw new OperationDeclinedException("declined");
			}
			if (request.kind().equals("always") || (request.kind().equals("once") && start == 1)) {
				throw new IllegalStateException(request.kind());
			}
			own.update("INSERT INTO pair_effect VALUES (?)", request.id());
			return request;
		}

	}

	/**
	 * The payload.
	 *
	 * @param id the operation
	 * @param content the content
	 * @param version the version
	 * @param kind what happens to it
	 */
	record Request(String id, String content, long version, String kind) {

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Functions {

		@Bean
		static JdbcTransactionManager transactionManager(DataSource dataSource) {
			new JdbcTemplate(dataSource).execute("CREATE TABLE pair_effect (id varchar(100))");
			return new JdbcTransactionManager(dataSource);
		}

		@Bean
		@Idempotent(key = "${pair.key}", version = "${pair.version}", fingerprint = "${pair.fingerprint}")
		Function<Request, Request> function(JdbcTemplate jdbc, @Value("${pair.topic}") String topic) {
			return (request) -> WORK.get(topic).run(request, jdbc);
		}

		@Bean
		@Idempotent(key = "${pair.key}", version = "${pair.version}", fingerprint = "${pair.fingerprint}")
		Consumer<Request> consumer(JdbcTemplate jdbc, @Value("${pair.topic}") String topic) {
			return (request) -> WORK.get(topic).run(request, jdbc);
		}

		@Bean
		Function<Request, Request> checked() {
			return Function.identity();
		}

		@Bean
		OperationObserver outcomes(@Value("${pair.topic}") String topic) {
			return new OperationObserver() {

				@Override
				public void handled(HandledOperation operation) {
					WORK.get(topic).outcomes.add(operation.outcome());
				}

			};
		}

	}

}
