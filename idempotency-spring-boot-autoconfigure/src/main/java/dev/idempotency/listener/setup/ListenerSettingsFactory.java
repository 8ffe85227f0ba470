/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.setup;

import java.lang.reflect.Type;
import java.time.Duration;
import java.util.List;
import java.util.function.BiFunction;

import org.jspecify.annotations.Nullable;
import org.springframework.format.datetime.standard.DurationFormatterUtils;
import org.springframework.transaction.annotation.AnnotationTransactionAttributeSource;
import org.springframework.transaction.interceptor.TransactionAttribute;
import org.springframework.transaction.support.DefaultTransactionDefinition;
import org.springframework.util.StringUtils;
import org.springframework.util.StringValueResolver;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.Idempotent;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.Mode;
import dev.idempotency.OtherContentPolicy;
import dev.idempotency.listener.delivery.DeclinedFailures;
import dev.idempotency.listener.delivery.Delivery;
import dev.idempotency.listener.delivery.ListenerSettings;
import dev.idempotency.listener.error.KafkaTransactionCompletions;
import dev.idempotency.listener.key.ListenerExpressions;
import dev.idempotency.listener.key.ListenerScope;
import dev.idempotency.listener.key.OperationResolver;
import dev.idempotency.listener.method.ListenerShape;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.Observers;
import dev.idempotency.template.ResultCodec;
import dev.idempotency.template.Serialization;
import dev.idempotency.template.TransactionBoundary;

/**
 * Creates the settings of a listener method from its annotation, its signature and the
 * defaults of the application.
 *
 * @param stores finds the store of a listener by the name in its annotation and the name
 * of the listener
 * @param serialization serializes results and fingerprints, {@code null} if there is none
 * @param defaults the settings of methods whose annotation does not set them
 * @param observers are notified of operations and blocked records
 * @param placeholders resolves placeholders in the attributes of annotations
 * @since 0.1.0
 */
public record ListenerSettingsFactory(BiFunction<String, String, ListenerStore> stores,
		@Nullable Serialization serialization, Defaults defaults, Observers observers,
		StringValueResolver placeholders) {

	String resolve(String text) {
		String resolved = this.placeholders.resolveStringValue(text);
		return (resolved != null) ? resolved : "";
	}

	ListenerSettings create(Idempotent annotation, ListenerShape shape, @Nullable Type result, OffsetChoice offsets) {
		String name = shape.name();
		ListenerScope scope = offsets.scope();
		AnnotationTransactionAttributeSource transactions = new AnnotationTransactionAttributeSource(false);
		transactions.setEmbeddedValueResolver(this.placeholders);
		TransactionAttribute transaction = transactions.getTransactionAttribute(shape.method(), shape.targetClass());
		Mode requested = (annotation.mode() != Mode.AUTO) ? annotation.mode() : this.defaults.mode();
		ListenerStore store = this.stores.apply(resolve(annotation.store()), name);
		Mode mode = new ModeChoice(store, shape, transaction).choose(requested);
		DurationSetting lease = duration(annotation.lease(), "lease", this.defaults.lease(), name);
		ListenerExpressions expressions = ListenerExpressions.of(annotation, this.placeholders, shape.method(),
				shape.targetClass(), name, shape.batch(), scope.isDeadLetter());
		DurationSetting retention = duration(annotation.retention(), "retention",
				expressions.hasVersion() ? this.defaults.versionRetention() : this.defaults.retention(), name);
		DurationSetting.check(lease, retention, name);
		if (expressions.hasVersion() && shape.batch() && shape.acknowledging()) {
			throw new IdempotencyConfigurationException("The idempotent batch listener " + name
					+ " has a version and an Acknowledgment. The records that are not given to the method, "
					+ "because the batch has a higher version of their key, could not be acknowledged in order.",
					"Remove the Acknowledgment and use the ack mode BATCH, or receive single records.");
		}
		if (expressions.hasFingerprint()) {
			requireSerialization("declares a fingerprint", shape);
		}
		MissingKeyPolicy onMissingKey = offsets.choose(expressions, onMissingKey(annotation, expressions), shape, mode,
				result != null, store.template());
		OperationResolver operations = OperationResolver.of(
				new OperationResolver.Settings(name, mode, lease.value(), retention.value(), this.defaults.keyHeaders(),
						onMissingKey, onOtherContent(annotation, expressions, name)),
				expressions, scope, this.serialization, this.observers, offsets.identities());
		return new ListenerSettings(name, mode, boundary(transaction, shape, mode), lease.value(), retention.value(),
				operations, codec(result, shape), store.template(), store.timeout(),
				DeclinedFailures.of(annotation.declineFor(), name), this.observers);
	}

	// The other policies would process a record although a higher version may have
	// completed.
	private MissingKeyPolicy onMissingKey(Idempotent annotation, ListenerExpressions expressions) {
		if (annotation.onMissingKey() != MissingKeyPolicy.DEFAULT) {
			return annotation.onMissingKey();
		}
		return expressions.hasVersion() ? MissingKeyPolicy.REJECT : this.defaults.onMissingKey();
	}

	private OtherContentPolicy onOtherContent(Idempotent annotation, ListenerExpressions expressions, String name) {
		OtherContentPolicy declared = annotation.onOtherContent();
		boolean useless = expressions.hasFingerprint() ? declared == OtherContentPolicy.IGNORE
				: declared == OtherContentPolicy.REJECT;
		if (useless) {
			throw new IdempotencyConfigurationException(
					"@Idempotent on " + name + " sets 'onOtherContent' to " + declared + " and "
							+ (expressions.hasFingerprint() ? "declares a fingerprint, which would not be compared."
									: "declares no fingerprint, so it is not known which content must not differ."),
					expressions.hasFingerprint() ? "Remove one of them."
							: "Set 'fingerprint' to the content for which a key stands, often to '#payload'.");
		}
		if (declared != OtherContentPolicy.DEFAULT) {
			return declared;
		}
		return expressions.hasFingerprint() ? OtherContentPolicy.REJECT : this.defaults.onOtherContent();
	}

	// A joined transaction ignores the attributes of the inner one, so the outer
	// transaction uses them.
	private static TransactionBoundary boundary(@Nullable TransactionAttribute attribute, ListenerShape shape,
			Mode mode) {
		if (shape.kafkaTransaction()) {
			return TransactionBoundary.deferred(KafkaTransactionCompletions::hold);
		}
		if (mode == Mode.LEASED && shape.acknowledging() && !shape.batch() && shape.async() == null) {
			return TransactionBoundary.deferred(Delivery.UNTIL_ACKNOWLEDGED);
		}
		DefaultTransactionDefinition definition = new DefaultTransactionDefinition();
		definition.setName("idempotent");
		if (attribute != null) {
			definition.setIsolationLevel(attribute.getIsolationLevel());
			definition.setTimeout(attribute.getTimeout());
		}
		return TransactionBoundary.of(definition, Delivery::takeRollbackOnly);
	}

	private DurationSetting duration(String text, String attribute, Duration fallback, String where) {
		String resolved = resolve(text);
		if (!StringUtils.hasText(resolved)) {
			return new DurationSetting(attribute, fallback, false);
		}
		try {
			return new DurationSetting(attribute, DurationFormatterUtils.detectAndParse(resolved), true);
		}
		catch (IllegalArgumentException ex) {
			throw new IdempotencyConfigurationException(
					"The " + attribute + " '" + resolved + "' of @Idempotent on " + where + " is not a duration.",
					"Write it like '30s', '5m' or '7d'.");
		}
	}

	private ResultCodec<Object> codec(@Nullable Type result, ListenerShape shape) {
		if (result == null) {
			return ListenerSettings.NO_RESULT;
		}
		Serialization used = requireSerialization("returns a value", shape);
		try {
			return used.codec(result);
		}
		catch (IllegalArgumentException ex) {
			throw shape.mistake(
					"returns " + result.getTypeName() + ", which can be stored but not read back for a duplicate: "
							+ ex.getMessage(),
					"Return a class or record that can be read back, add @JsonCreator or @JsonTypeInfo to the type, "
							+ "or declare a Serialization bean.");
		}
	}

	private Serialization requireSerialization(String reason, ListenerShape shape) {
		if (this.serialization == null) {
			throw shape.mistake(reason + ", but there is no Jackson to serialize it",
					"Add 'spring-boot-starter-jackson', or declare a Serialization bean.");
		}
		return this.serialization;
	}

	/**
	 * The store that a listener uses.
	 *
	 * @param template executes the operations with the store
	 * @param timeout the timeout of a call of the store
	 * @param foreignTransactions describes the transaction manager of a handler's own
	 * transactions, or returns {@code null} if it is the transaction manager of the store
	 */
	public record ListenerStore(IdempotencyTemplate template, Duration timeout,
			BiFunction<TransactionAttribute, Class<?>, @Nullable String> foreignTransactions) {

	}

	/**
	 * The settings of methods whose annotation does not set them.
	 *
	 * @param mode the mode
	 * @param lease the lease of a claim
	 * @param retention the retention of a completed key
	 * @param versionRetention the retention of the versions of a key
	 * @param keyHeaders the names of the headers that may hold the key, in order;
	 * {@code a+b} is a key of two headers
	 * @param onMissingKey the policy for records without a usable key,
	 * {@link MissingKeyPolicy#DEFAULT} to choose it for each listener
	 * @param onOtherContent the policy for duplicates with other content, for listeners
	 * without a fingerprint
	 * @param claimAhead whether a listener of single records in leased mode claims the
	 * key of its next record together with the completion of the current one
	 */
	public record Defaults(Mode mode, Duration lease, Duration retention, Duration versionRetention,
			List<String> keyHeaders, MissingKeyPolicy onMissingKey, OtherContentPolicy onOtherContent,
			boolean claimAhead) {

	}

}
