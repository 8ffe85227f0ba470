/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.List;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.kafka.annotation.KafkaHandler;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.ListenerCensus;
import dev.idempotency.ListenerCensus.Listener;
import dev.idempotency.Mode;
import dev.idempotency.NotIdempotent;
import dev.idempotency.OtherContentPolicy;
import dev.idempotency.testsupport.Contexts;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

/**
 * Tests for {@link NotIdempotent} and for the {@link ListenerCensus}.
 */
@Tag("promise-15")
class ListenerCensusTests {

	private static final String REQUIRED = "idempotency.require=declared";

	private final ApplicationContextRunner runner = Contexts.all();

	@Test
	void listenersAreListedWithTheirProtection() {
		this.runner.withUserConfiguration(Declared.class, Plain.class).run((context) -> {
			assertThat(context).hasNotFailed();
			assertThat(context.getBean(ListenerCensus.class).listeners())
				.extracting(Listener::name, Listener::topics, Listener::group, Listener::reason)
				.containsExactly(tuple("ListenerCensusTests.Declared.keyed", "topics [keyed]", "group", null),
						tuple("ListenerCensusTests.Declared.state", "topics [state]", "group", "replaces a state"),
						tuple("ListenerCensusTests.Plain.listen", "topics [plain]", "group", null));
			List<Listener> listeners = context.getBean(ListenerCensus.class).listeners();
			assertThat(listeners.get(0).protection()).satisfies((protection) -> {
				assertThat(protection.mode()).isEqualTo(Mode.TRANSACTIONAL);
				assertThat(protection.store()).isEqualTo("jdbc");
				assertThat(protection.scope()).contains("group/keyed");
				assertThat(protection.key()).isEqualTo("#payload");
				assertThat(protection.fingerprint()).isNull();
				assertThat(protection.onOtherContent()).isEqualTo(OtherContentPolicy.REPORT);
			});
			assertThat(listeners.get(1).protection()).isNull();
			assertThat(listeners.get(2).protection()).isNull();
		});
	}

	@Test
	void declaredListenersStart() {
		this.runner.withUserConfiguration(Declared.class, Handlers.class)
			.withPropertyValues(REQUIRED)
			.run((context) -> assertThat(context).hasNotFailed());
	}

	@Test
	void listenerThatDeclaresNothingStopsTheStartIfThatIsRequired() {
		FailureAnalysis analysis = Contexts
			.failure(this.runner.withUserConfiguration(Plain.class).withPropertyValues(REQUIRED));
		assertThat(analysis.getDescription())
			.isEqualTo("The listener ListenerCensusTests.Plain.listen does not declare "
					+ "whether it is protected, and 'idempotency.require' is 'declared'.");
		assertThat(analysis.getAction()).startsWith("Put @Idempotent on it, or @NotIdempotent");
	}

	@Test
	void listenersOfTheSameNameAreListed() {
		this.runner.withUserConfiguration(Overloaded.class, Repeated.class)
			.run((context) -> assertThat(context.getBean(ListenerCensus.class).listeners())
				.extracting(Listener::name, Listener::topics, Listener::group,
						(listener) -> listener.protection() != null)
				.containsExactly(tuple("ListenerCensusTests.Overloaded.listen", "topics [keyed]", "group", true),
						tuple("ListenerCensusTests.Overloaded.listen", "topics [plain]", "group", false),
						tuple("ListenerCensusTests.Repeated.listen", "topics [all]", "one", false),
						tuple("ListenerCensusTests.Repeated.listen", "topics [all]", "two", false)));
	}

	@ParameterizedTest
	@CsvSource({ "Both, is @Idempotent and @NotIdempotent.", "OfClass, is @Idempotent and @NotIdempotent.",
			"Blank, gives no reason." })
	void contradictoryDeclarationStopsTheStart(String listener, String problem) throws ClassNotFoundException {
		assertThat(Contexts
			.failure(this.runner.withUserConfiguration(Class.forName(getClass().getName() + '$' + listener)))
			.getDescription()).contains(problem);
	}

	static class Declared {

		@Idempotent(key = "#payload")
		@KafkaListener(topics = "keyed", groupId = "group")
		void keyed(String value) {
		}

		@NotIdempotent("replaces a state")
		@KafkaListener(topics = "state", groupId = "group")
		void state(String value) {
		}

	}

	@NotIdempotent("writes a log only")
	@KafkaListener(topics = "handlers", groupId = "group")
	static class Handlers {

		@KafkaHandler
		void text(String value) {
		}

	}

	static class Plain {

		@KafkaListener(topics = "plain", groupId = "group")
		void listen(String value) {
		}

	}

	static class Both {

		@Idempotent
		@NotIdempotent("both")
		@KafkaListener(topics = "both", groupId = "group")
		void listen(String value) {
		}

	}

	@Idempotent
	static class OfClass {

		@NotIdempotent("both")
		@KafkaListener(topics = "both", groupId = "group")
		void listen(String value) {
		}

	}

	static class Overloaded {

		@Idempotent
		@KafkaListener(topics = "keyed", groupId = "group")
		void listen(String value) {
		}

		@KafkaListener(topics = "plain", groupId = "group")
		void listen(Integer value) {
		}

	}

	static class Repeated {

		@KafkaListener(topics = "all", groupId = "one")
		@KafkaListener(topics = "all", groupId = "two")
		void listen(String value) {
		}

	}

	static class Blank {

		@NotIdempotent(" ")
		@KafkaListener(topics = "blank", groupId = "group")
		void listen(String value) {
		}

	}

}
