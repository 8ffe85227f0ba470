/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm.pairs;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;
import org.jspecify.annotations.Nullable;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.support.KafkaHeaders;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.storm.pairs.Message.Kind;
import dev.idempotency.storm.pairs.Work.Effect;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static dev.idempotency.contract.OneKey.one;

/**
 * Runs the application of a combination with its traffic.
 */
final class Trial {

	// A container that is stopped at each failure starts many times.
	private static final Duration PATIENCE = Duration.ofMinutes(3);

	// Threads that drivers and libraries share in the JVM.
	private static final Pattern SHARED = Pattern
		.compile("(?i)(boundedElastic|parallel-|ForkJoin|CompletableFutureDelay|kotlinx|DefaultDispatcher|H2-"
				+ "|PostgreSQL-JDBC|mariadb|mysql|lettuce|idle-connection|process|Attach|Cleaner|kafka-producer"
				+ "|SharedTimer|sdk-|nioEventLoop|globalEventExecutor|kafka-admin"
				// They end when they have been idle for a minute.
				+ "|idempotency-answers).*");

	private final Combination combination;

	private final boolean plain;

	private final String topic = Servers.unique("pair");

	private final Traffic traffic;

	private final Model model;

	private final Work work;

	private final List<String> problems = new ArrayList<>();

	private JdbcTemplate jdbc;

	Trial(Combination combination, boolean plain) {
		this.combination = combination;
		this.plain = plain;
		this.traffic = new Traffic(combination);
		this.model = new Model(combination);
		this.work = new Work(combination, this.topic);
	}

	/**
	 * Run the trial.
	 * @param combination the combination
	 * @param plain whether the listener is not idempotent, which shows what Spring Kafka
	 * does alone
	 * @return the problems, empty if there are none
	 * @throws Exception if the application does not start
	 */
	static List<String> run(Combination combination, boolean plain) throws Exception {
		Stores.start();
		Trial trial = new Trial(combination, plain);
		ThreadGroup group = new ThreadGroup(trial.topic);
		Throwable[] failure = new Throwable[1];
		Thread thread = new Thread(group, () -> {
			try {
				trial.run();
			}
			catch (Throwable ex) {
				failure[0] = ex;
			}
		}, trial.topic);
		thread.start();
		thread.join();
		if (failure[0] != null) {
			throw new IllegalStateException(trial.topic + ": " + combination, failure[0]);
		}
		trial.checkThreads(group);
		return trial.problems;
	}

	/**
	 * Start the application of a combination that is refused. Its containers do not
	 * start.
	 * @param combination the combination
	 * @return the failure, {@code null} if it has started
	 */
	static @Nullable Throwable refusal(Combination combination) {
		Trial trial = new Trial(combination, false);
		TrialApp.register(trial.topic, trial.work);
		try {
			trial.app().run().close();
			return null;
		}
		catch (RuntimeException ex) {
			return ex;
		}
		finally {
			TrialApp.unregister(trial.topic);
		}
	}

	private void checkThreads(ThreadGroup group) {
		// Some end when they have been idle for ten seconds.
		try {
			Awaitility.await().atMost(Duration.ofSeconds(30)).until(() -> threads(group).isEmpty());
		}
		catch (ConditionTimeoutException ex) {
			Thread[] left = new Thread[500];
			int count = group.enumerate(left);
			this.problems.add("threads: " + Arrays.stream(left, 0, count)
				.filter((thread) -> threads(group).contains(thread.getName()))
				.map((thread) -> thread.getName() + " " + Arrays.asList(thread.getStackTrace()))
				.toList());
		}
	}

	private static List<String> threads(ThreadGroup group) {
		Thread[] threads = new Thread[500];
		int count = group.enumerate(threads);
		return Arrays.stream(threads, 0, count)
			.filter(Thread::isAlive)
			.map(Thread::getName)
			.filter((name) -> !SHARED.matcher(name).matches())
			.toList();
	}

	private void run() throws Exception {
		TrialApp.register(this.topic, this.work);
		Servers.addTopics(topic("", Traffic.PARTITIONS), topic(TrialApp.DEAD_LETTERS, 1),
				topic("-retry", Traffic.PARTITIONS), topic("-replies", 1), topic("-outbox", 1));
		TestApp app = app();
		if (this.combination.is(Factor.POOL, "one connection")) {
			// A migration needs a second connection.
			app.with("spring.datasource.hikari.maximum-pool-size", 2)
				.with("spring.kafka.listener.auto-startup", false)
				.run()
				.close();
			app.with("spring.datasource.hikari.maximum-pool-size", 1)
				.with("spring.kafka.listener.auto-startup", true)
				.with("idempotency.jdbc.schema", "validate");
			if (this.combination.is(Factor.STORE, "migrating")) {
				app.with("idempotency.stores.old.jdbc.schema", "validate");
			}
		}
		this.traffic.send(this.topic, this.traffic.first());
		Evidence evidence;
		SimpleMeterRegistry meters;
		Observations observations;
		Map<String, Optional<IdempotencyRecord>> records;
		try (ConfigurableApplicationContext context = app.run()) {
			this.jdbc = new JdbcTemplate(
					Stores.observer(context.getEnvironment().getRequiredProperty("spring.datasource.url")));
			observations = context.getBean(Observations.class);
			meters = context.getBean(SimpleMeterRegistry.class);
			await(context, this.traffic.first());
			restart(context);
			this.traffic.send(this.topic, this.traffic.second());
			await(context, this.traffic.all());
			records = records(context);
			checkConnections(context);
		}
		finally {
			TrialApp.unregister(this.topic);
		}
		evidence = new Evidence(this.work.calls(), Effect.read(this.jdbc, false), Effect.read(this.jdbc, true),
				deadLetters(), replies(), values("-outbox"), observations.counts(), outcomes(meters),
				List.of(observations.notStored(), notStored(meters)), refused(meters), records,
				Kafka.lag(this.topic, this.topic));
		this.problems.addAll(this.work.violations());
		this.problems.addAll(new Oracle(this.combination, this.traffic, evidence).problems());
	}

	// The consumers begin at the committed offsets. An offset that is too high would lose
	// a record.
	private static void restart(ConfigurableApplicationContext context) {
		KafkaListenerEndpointRegistry registry = context.getBean(KafkaListenerEndpointRegistry.class);
		registry.stop();
		registry.start();
	}

	private NewTopic topic(String suffix, int partitions) {
		return new NewTopic(this.topic + suffix, partitions, (short) 1);
	}

	private Class<?> listener() {
		if (this.combination.is(Factor.SHAPE, "suspend") && this.combination.is(Factor.KEY, "offset")) {
			return SuspendOffsetListener.class;
		}
		if (this.combination.is(Factor.SHAPE, "suspend")) {
			return this.combination.replies() ? SuspendReplyListener.class : SuspendListener.class;
		}
		return PairListener.generate(this.combination, this.topic, this.plain);
	}

	private TestApp app() {
		Combination c = this.combination;
		TestApp app = TestApp.of(TrialApp.configuration(c, listener()))
			.with("pair.topic", this.topic)
			.with("pair.key",
					c.is(Factor.KEY, "expression") ? "#record.key()"
							: c.is(Factor.KEY, "composite") ? "#record.key() + '/' + #headers['tenant']" : "")
			.with("pair.version", c.versions() ? "#headers['version']" : "")
			.with("pair.fingerprint", c.is(Factor.FINGERPRINT, "declared") ? "#payload" : "")
			.with("idempotency.mode", c.levels().get(Factor.MODE))
			.with("idempotency.claim-ahead", c.is(Factor.CLAIM_AHEAD, "on"))
			.with("idempotency.cache.enabled", c.is(Factor.CACHE, "on"))
			.with("idempotency.result.maximum-size", "250B")
			.with("idempotency.outbox.enabled", c.outbox())
			.with("idempotency.outbox.poll-interval", "100ms")
			.with("spring.kafka.client-id", this.topic)
			.with("spring.kafka.consumer.max-poll-records", Limit.POLL)
			.with("spring.kafka.consumer.isolation-level", "read_committed")
			.with("spring.datasource.hikari.pool-name", this.topic);
		switch (c.levels().get(Factor.PROTOCOL)) {
			case "consumer" -> app.with("spring.kafka.consumer.properties.group.protocol", "consumer");
			case "cooperative" -> app.with("spring.kafka.consumer.properties.partition.assignment.strategy",
					"org.apache.kafka.clients.consumer.CooperativeStickyAssignor");
			default -> app.with("spring.kafka.consumer.properties.partition.assignment.strategy",
					"org.apache.kafka.clients.consumer.RangeAssignor");
		}
		if (c.is(Factor.INTERCEPTION, "consumer interceptor changes headers")) {
			app.with("spring.kafka.consumer.properties.interceptor.classes",
					TrialApp.HeaderInterceptor.class.getName());
		}
		if (c.kafkaTransaction()) {
			app.with("spring.kafka.producer.transaction-id-prefix", this.topic);
		}
		if (c.is(Factor.POOL, "auto-commit off")) {
			app.with("spring.datasource.hikari.auto-commit", false);
		}
		Stores.configure(app, c, this.topic,
				this.traffic.first()
					.stream()
					.filter((message) -> message.kind() == Kind.MOVED)
					.map((message) -> message.key(c))
					.toList());
		return app;
	}

	private void await(ConfigurableApplicationContext context, List<Message> messages) {
		try {
			Awaitility.await()
				.atMost(PATIENCE)
				.pollDelay(Duration.ofMillis(50))
				.pollInterval(Duration.ofMillis(100))
				.pollInSameThread()
				.until(() -> done(context, messages));
		}
		catch (ConditionTimeoutException ex) {
			this.problems.add("not done after " + PATIENCE + ": lag " + Kafka.lag(this.topic, this.topic));
		}
	}

	private boolean done(ConfigurableApplicationContext context, List<Message> messages) {
		if (this.combination.stopping() && context.getBean(Observations.class).idle()) {
			context.getBean(KafkaListenerEndpointRegistry.class)
				.getListenerContainers()
				.stream()
				.filter((container) -> !container.isRunning())
				.forEach(MessageListenerContainer::start);
		}
		// Without the library nothing is observed. The lag is what Spring Kafka leaves.
		long tolerance = (!this.plain && context.getBean(Observations.class).quiet()) ? Limit.lag(this.combination)
				: Limit.COUNTED_ACKNOWLEDGMENT.applies(this.combination) ? Traffic.PARTITIONS : 0;
		if (Kafka.lag(this.topic, this.topic) > tolerance) {
			return false;
		}
		if (this.combination.batchGivenUp()) {
			return true;
		}
		if (this.combination.retryTopic() && Kafka.lag(this.topic + "-retry", this.topic + "-retry") > tolerance) {
			return false;
		}
		if (this.plain) {
			return true;
		}
		List<String> effects = Effect.read(this.jdbc, false).stream().map(Effect::operation).toList();
		long dead = this.model.dead(messages);
		return this.model.operations(messages)
			.entrySet()
			.stream()
			.allMatch((operation) -> !this.model.succeeds(operation.getValue().get(0))
					|| effects.contains(operation.getKey()))
				&& Kafka.lag("nobody", this.topic + TrialApp.DEAD_LETTERS) >= dead;
	}

	private Map<String, Optional<IdempotencyRecord>> records(ConfigurableApplicationContext context) {
		Map<String, Optional<IdempotencyRecord>> records = new HashMap<>();
		if (this.combination.keyed() && !this.plain) {
			IdempotencyTemplate template = context.getBean(IdempotencyTemplate.class);
			for (Message message : this.traffic.first()) {
				if (message.kind() != Kind.KEYLESS && message.kind() != Kind.DROPPED) {
					records.put(message.operation(this.combination), one(template.store())
						.find(IdempotencyKey.of(this.combination.scope(this.topic), message.key(this.combination))));
				}
			}
		}
		return records;
	}

	private void checkConnections(ConfigurableApplicationContext context) {
		int expected = this.combination.outbox() ? 1 : 0;
		HikariDataSource pool = (HikariDataSource) context.getBean(DataSource.class);
		try {
			Awaitility.await()
				.atMost(Duration.ofSeconds(10))
				.pollInSameThread()
				.until(() -> pool.getHikariPoolMXBean().getActiveConnections() <= expected);
		}
		catch (ConditionTimeoutException ex) {
			this.problems.add("connections: " + pool.getHikariPoolMXBean().getActiveConnections());
		}
	}

	private List<ConsumerRecord<String, String>> read(String suffix) {
		return Kafka.readCommitted(this.topic + suffix);
	}

	private List<String> values(String suffix) {
		return read(suffix).stream().map(ConsumerRecord::value).toList();
	}

	private Map<String, Long> deadLetters() {
		return read(TrialApp.DEAD_LETTERS).stream()
			.collect(Collectors.groupingBy((record) -> Message.of(record).uid(), Collectors.counting()));
	}

	// The replies of a batch have no correlation id, and a null value belongs to none.
	private Map<String, List<String>> replies() {
		return read("-replies").stream()
			.filter((record) -> record.value() != null)
			.collect(Collectors.groupingBy(this::replied,
					Collectors.mapping(ConsumerRecord::value, Collectors.toList())));
	}

	private String replied(ConsumerRecord<String, String> reply) {
		@Nullable String correlation = this.combination.batch() ? null : Message.text(reply, KafkaHeaders.CORRELATION_ID);
		return Objects.requireNonNullElse(correlation, reply.value().substring(0, reply.value().indexOf('#')));
	}

	private static Map<Outcome, Long> outcomes(SimpleMeterRegistry meters) {
		Map<Outcome, Long> outcomes = new TreeMap<>();
		meters.find("idempotency.process")
			.timers()
			.stream()
			.filter((timer) -> !Observations.NESTED.equals(timer.getId().getTag("listener")))
			.forEach(
					(timer) -> outcomes.merge(Outcome.valueOf(timer.getId().getTag("outcome").toUpperCase(Locale.ROOT)),
							timer.count(), Long::sum));
		return outcomes;
	}

	private static long refused(SimpleMeterRegistry meters) {
		return meters.find("idempotency.store")
			.tag("outcome", "refused")
			.timers()
			.stream()
			.mapToLong(Timer::count)
			.sum();
	}

	private static int notStored(SimpleMeterRegistry meters) {
		return (int) meters.find("idempotency.result.not.stored").counters().stream().mapToDouble(Counter::count).sum();
	}

}
