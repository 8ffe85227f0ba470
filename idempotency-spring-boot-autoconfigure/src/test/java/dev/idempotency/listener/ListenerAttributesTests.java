package dev.idempotency.listener;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.testsupport.Contexts;
import dev.idempotency.testsupport.Logs;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link ListenerSettingsFactory}: a listener with a wrong attribute does not
 * start.
 */
@Tag("promise-12")
class ListenerAttributesTests {

	private final ApplicationContextRunner runner = Contexts.all();

	@Test
	void leaseBelowOneSecondIsRefused() {
		assertRefused("lease", "999ms",
				"The lease of the idempotent listener ListenerAttributesTests.Listener.listen is 999ms ('lease' of "
						+ "@Idempotent), shorter than 1s.",
				"Set it to 1s or more.");
	}

	@ParameterizedTest
	@ValueSource(strings = { "lease", "idempotency.lease" })
	void leaseWithoutUnitIsRefusedWithItsMeaning(String property) {
		String origin = property.equals("lease") ? "'lease' of @Idempotent" : "'idempotency.lease'";
		assertRefused(property, "30",
				"The lease of the idempotent listener ListenerAttributesTests.Listener.listen is 30ms (" + origin
						+ "), shorter than 1s.",
				"Set it to 1s or more. A number without a unit is milliseconds: write '30s' for 30 seconds.");
	}

	@Test
	void leaseOfOneSecondStarts() {
		this.runner.withUserConfiguration(Listener.class)
			.withPropertyValues("lease=1s")
			.run((context) -> assertThat(context).hasNotFailed());
	}

	@Test
	void retentionEqualToTheLeaseIsRefused() {
		assertRefused("retention", "30s",
				"The retention of the idempotent listener ListenerAttributesTests.Listener.listen is 30s ('retention' of "
						+ "@Idempotent), not longer than its lease of 30s ('idempotency.lease').",
				"Set the retention to more than the lease, and to more than the topic keeps its records.");
	}

	@Test
	void retentionWithoutUnitIsRefusedWithItsMeaning() {
		assertRefused("idempotency.retention", "7",
				"listen is 7ms ('idempotency.retention'), not longer than its lease of 30s ('idempotency.lease').",
				"A number without a unit is milliseconds: write '7d' for 7 days.");
	}

	@Test
	void annotatedLeaseThatExceedsTheRetentionIsRefused() {
		assertRefused("lease", "8d",
				"The lease of the idempotent listener ListenerAttributesTests.Listener.listen is 8d ('lease' of "
						+ "@Idempotent), not shorter than its retention of 7d ('idempotency.retention').",
				"Set the lease to less than the retention. Seconds to minutes are usual: a running handler renews it.");
	}

	@Test
	void globalLeaseBelowOneSecondIsRefused() {
		assertRefused("idempotency.lease", "10ms", "listen is 10ms ('idempotency.lease'), shorter than 1s.",
				"Set it to 1s or more.");
	}

	@Test
	void unparsableLeaseIsRefused() {
		assertRefused("lease", "soon", "The lease 'soon' of @Idempotent on ListenerAttributesTests.Listener.listen",
				"Write it like '30s', '5m' or '7d'.");
	}

	@Test
	void unparsableRetentionIsRefused() {
		assertRefused("retention", "a week", "The retention 'a week' of @Idempotent", "Write it like");
	}

	@Test
	void unknownVariableIsRefused() {
		assertRefused("key", "#order + #value", "uses unknown variables: [order].",
				"Use #record, #payload, #headers or a parameter [value]");
	}

	@ParameterizedTest
	@ValueSource(strings = { "key", "fingerprint", "condition" })
	@Tag("promise-15")
	void propertyThatThePayloadDoesNotHaveIsRefused(String attribute) {
		assertRefused(attribute, "#payload.paymentIdd",
				"The " + attribute + " expression '#payload.paymentIdd' of @Idempotent on "
						+ "ListenerAttributesTests.Listener.listen names the property 'paymentIdd', which "
						+ "java.lang.String does not have.",
				"Correct the expression");
	}

	@Test
	@Tag("promise-15")
	void sumWithoutSeparatorCausesAWarning() {
		try (Logs logs = new Logs()) {
			this.runner.withUserConfiguration(Listener.class)
				.withPropertyValues("key=#payload + #value")
				.run((context) -> assertThat(context).hasNotFailed());
			assertThat(logs.messages("WARN")).singleElement()
				.asString()
				.contains("joins parts without a separator", "ListenerAttributesTests.Listener.listen");
		}
	}

	@Test
	void unknownVariableInSelectionIsRefused() {
		assertRefused("condition", "{1}.![#item] != null", "uses unknown variables: [item].", "Use #record");
	}

	@Test
	void brokenExpressionIsRefused() {
		assertRefused("fingerprint", "#payload +",
				"The fingerprint expression '#payload +' of @Idempotent on ListenerAttributesTests.Listener.listen "
						+ "cannot be parsed",
				"Correct the expression.");
	}

	@Test
	@Tag("promise-15")
	void classExpressionThatDoesNotFitAMethodIsRefusedWithAnAction() {
		this.runner.withUserConfiguration(ClassListener.class).run((context) -> {
			FailureAnalysis analysis = Contexts.analyze(context.getStartupFailure());
			assertThat(analysis.getDescription()).contains("ClassListener.other uses unknown variables: [value].");
			assertThat(analysis.getAction()).contains("annotate this method with @Idempotent of its own");
		});
	}

	@Test
	void overLongScopeIsRefused() {
		assertRefused("scope", "s".repeat(513), "has 513 characters, more than 512", "Set 'scope' of @Idempotent");
	}

	@Test
	void placeholdersInAttributesAreResolved() {
		try (Logs logs = new Logs()) {
			this.runner.withUserConfiguration(Listener.class)
				.withPropertyValues("scope=billing", "lease=5s", "retention=3d", "key=#payload")
				.run((context) -> assertThat(context).hasNotFailed());
			assertThat(logs.messages("INFO")).filteredOn((message) -> message.contains("scope 'billing'"))
				.singleElement()
				.asString()
				.contains("retention 3d");
		}
	}

	private void assertRefused(String property, String value, String description, String action) {
		this.runner.withUserConfiguration(Listener.class).withPropertyValues(property + "=" + value).run((context) -> {
			FailureAnalysis analysis = Contexts.analyze(context.getStartupFailure());
			assertThat(analysis.getDescription()).contains(description);
			assertThat(analysis.getAction()).contains(action);
		});
	}

	static class Listener {

		@Idempotent(key = "${key:}", scope = "${scope:}", lease = "${lease:}", retention = "${retention:}",
				fingerprint = "${fingerprint:}", condition = "${condition:}")
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	@Idempotent(condition = "#value != 'skip'")
	static class ClassListener {

		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

		@KafkaListener(topics = "other", groupId = "group")
		void other(Integer number) {
		}

	}

}
