/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.key;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.springframework.expression.EvaluationException;

import dev.idempotency.ExceptionCauses;
import dev.idempotency.IdempotencyFingerprintUnusableException;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyKeyMissingException;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.Mode;
import dev.idempotency.OperationRejectedException;
import dev.idempotency.OtherContentPolicy;
import dev.idempotency.store.Fingerprint;
import dev.idempotency.template.IdempotentOperation;
import dev.idempotency.template.Observers;
import dev.idempotency.template.OffsetPosition;
import dev.idempotency.template.OperationObserver.HandledOperation;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.template.OperationVersion;
import dev.idempotency.template.Serialization;

/**
 * Resolves a record to the operation that it requests:
 * <ol>
 * <li>A record that the condition excludes has no operation.</li>
 * <li>The scope comes from the {@link ListenerScope}, the key from the expression or from
 * the headers. The key of a dead letter is its coordinates.</li>
 * <li>The fingerprint comes from the expression, else from the header of the producer,
 * else from the value of the record; the version comes from the expression.</li>
 * <li>A record without a usable key is handled by the {@link MissingKeyPolicy}.</li>
 * </ol>
 *
 * @param settings the settings of the listener method
 * @param expressions the expressions of its annotation
 * @param keys resolves the keys
 * @param scope the scope of the operations
 * @param serialization serializes fingerprints, {@code null} if there is none
 * @param observers are notified of records without a usable key
 * @param positions finds the position of a record whose offset is compared
 * @param warnings logs warnings, {@code null} to log none
 * @param contents computes the fingerprints of records without a declared one
 * @param usesPayload whether an expression uses the payload
 * @since 0.1.0
 */
public record OperationResolver(Settings settings, ListenerExpressions expressions, KeyResolver keys,
		ListenerScope scope, @Nullable Serialization serialization, Observers observers,
		@Nullable Function<ConsumerRecord<?, ?>, OffsetPosition> positions, @Nullable RateLimitedWarnings warnings,
		RecordContents contents, boolean usesPayload) {

	public static OperationResolver of(Settings settings, ListenerExpressions expressions, ListenerScope scope,
			@Nullable Serialization serialization, Observers observers,
			@Nullable Function<ConsumerRecord<?, ?>, OffsetPosition> positions) {
		// The key of a header identifies a message, and the versions are those of an
		// entity.
		KeyResolver keys = KeyResolver.of(expressions.key(),
				expressions.hasVersion() ? List.of() : settings.keyHeaders());
		boolean usesPayload = expressions.variables()
			.stream()
			.anyMatch((name) -> name.equals("payload") || expressions.parameters().isPayloadName(name));
		return new OperationResolver(settings, expressions, keys, scope, serialization, observers, positions,
				new RateLimitedWarnings(System::nanoTime), new RecordContents(settings.onOtherContent(), serialization),
				usesPayload);
	}

	// Return a resolver for records that are read outside of a delivery. It resolves
	// the same records to the same operations, but reports nothing: neither log
	// lines nor notifications.
	public OperationResolver silent(@Nullable Function<ConsumerRecord<?, ?>, OffsetPosition> silentPositions) {
		return new OperationResolver(this.settings, this.expressions, this.keys, this.scope, this.serialization,
				Observers.none(), silentPositions, null, this.contents, this.usesPayload);
	}

	public boolean isKeyless() {
		return this.expressions.isKeyless();
	}

	// The index is that of the record in its batch, -1 for a single record.
	public Resolution resolve(ConsumerRecord<?, ?> record, @Nullable Object[] arguments, int index) {
		RecordContext context = new RecordContext(this.expressions.parameters(), record, arguments, index);
		Origin origin = new Origin(this.settings.listener(), record.topic(), record.partition(), record.offset());
		try {
			boolean excluded = isExcluded(context, origin);
			return new Resolution(origin, excluded ? null : operation(context, origin), excluded);
		}
		catch (OperationRejectedException ex) {
			reportWithoutKey(Outcome.REJECTED, Duration.ZERO);
			throw ex;
		}
	}

	private @Nullable IdempotentOperation operation(RecordContext context, Origin origin) {
		ConsumerRecord<?, ?> record = context.record();
		if (this.expressions.isKeyless()) {
			return positioned(record, origin);
		}
		if (this.scope.isDeadLetter()) {
			return operation(record, origin, RecordCoordinates.key(record), null, null, null);
		}
		try {
			String key = this.keys.resolve(context, record.headers());
			byte[] fingerprint = fingerprint(context, origin);
			RecordVersions versions = this.expressions.versions();
			return operation(record, origin, key, fingerprint, (versions != null) ? versions.of(context, origin) : null,
					null);
		}
		catch (UnusableKeyException ex) {
			return withoutKey(ex, record, origin);
		}
	}

	// Whether the operation of a record can be resolved before its delivery. The
	// arguments of the method are not known then, except for a payload that
	// needs no conversion.
	public boolean canResolveAhead() {
		ListenerParameters parameters = this.expressions.parameters();
		return this.expressions.variables()
			.stream()
			.allMatch((name) -> RecordExpression.VARIABLES.contains(name) || parameters.isPayloadName(name));
	}

	// Resolve a record that may be delivered next. Nothing is reported, because the
	// record is resolved again when it is delivered.
	public @Nullable IdempotentOperation resolveAhead(ConsumerRecord<?, ?> record) {
		ListenerParameters parameters = this.expressions.parameters();
		if (this.usesPayload && !parameters.isPayload(record.value())) {
			return null;
		}
		try {
			return silent(this.positions).resolve(record, parameters.arguments(record.value()), -1).operation();
		}
		catch (RuntimeException ex) {
			// The delivery reports it.
			return null;
		}
	}

	private void warn(String reason, String message, @Nullable Throwable cause) {
		if (this.warnings != null) {
			this.warnings.warn(reason, message, cause);
		}
	}

	private IdempotentOperation positioned(ConsumerRecord<?, ?> record, Origin origin) {
		return operation(record, origin, this.scope.coordinates(record), null, null,
				Objects.requireNonNull(this.positions).apply(record));
	}

	private IdempotentOperation operation(ConsumerRecord<?, ?> record, Origin origin, String key,
			byte @Nullable [] fingerprint, @Nullable OperationVersion version, @Nullable OffsetPosition position) {
		return new IdempotentOperation(IdempotencyKey.of(this.scope.of(record), key), this.settings.listener(), origin,
				this.settings.mode(), fingerprint, this.settings.lease(), this.settings.retention(), position, version);
	}

	// A condition that fails excludes nothing, because protection is the safer choice.
	private boolean isExcluded(RecordContext context, Origin origin) {
		RecordExpression condition = this.expressions.condition();
		if (condition == null) {
			return false;
		}
		try {
			return Boolean.FALSE.equals(condition.evaluate(context));
		}
		catch (EvaluationException ex) {
			warn("condition", "The condition '" + condition + "' failed, so the record is protected (" + origin
					+ "). Correct the expression", ex);
			return false;
		}
	}

	private @Nullable IdempotentOperation withoutKey(UnusableKeyException problem, ConsumerRecord<?, ?> record,
			Origin origin) {
		MissingKeyPolicy declared = this.settings.onMissingKey();
		MissingKeyPolicy policy = (declared == MissingKeyPolicy.OFFSET && !this.scope.comparesOffsets())
				? MissingKeyPolicy.RECORD_COORDINATES : declared;
		this.observers.operation((observer) -> observer.keyMissing(this.settings.listener(), policy));
		String reason = String.valueOf(problem.getMessage());
		String description = "The record has no usable idempotency key: " + reason + " (" + origin + "). ";
		String action = (problem.getCause() instanceof EvaluationException) ? "Correct the expression"
				: "Make the producer send a key";
		if (policy == MissingKeyPolicy.REJECT) {
			throw new IdempotencyKeyMissingException(description + "The record is rejected. " + action,
					problem.getCause());
		}
		String effect = switch (policy) {
			case PROCESS ->
				"The record is processed without protection: neither a redelivery nor a copy is recognized. ";
			case OFFSET -> "Its offset is compared with that of the last processed record of its partition: a "
					+ "redelivery is recognized, but a copy that is sent again is not. ";
			default -> "Its coordinates are used as the key: a redelivery is recognized, but a copy that is sent again "
					+ "is not. ";
		};
		String alternative = (policy == MissingKeyPolicy.OFFSET && !this.expressions.hasKey())
				? ", or set 'onMissingKey' of @Idempotent to OFFSET if no record is sent twice" : "";
		warn(reason, description + effect + action + alternative, problem.getCause());
		return switch (policy) {
			case PROCESS -> null;
			case OFFSET -> positioned(record, origin);
			default -> operation(record, origin, this.scope.coordinates(record), null, null, null);
		};
	}

	private byte @Nullable [] fingerprint(RecordContext context, Origin origin) {
		RecordExpression expression = this.expressions.fingerprint();
		if (expression == null && this.settings.onOtherContent() == OtherContentPolicy.IGNORE) {
			return null;
		}
		if (expression == null) {
			byte[] sent = TextHeaders.fingerprint(context.record().headers());
			return (sent != null) ? Fingerprint.ofMessage(sent)
					: this.contents.fingerprint(context.record().value(), origin);
		}
		Object content = null;
		try {
			content = expression.evaluate(context);
			Serialization form = Objects.requireNonNull(this.serialization);
			return (this.settings.onOtherContent() == OtherContentPolicy.REPORT)
					? Fingerprint.ofReported(form.canonicalVersion(), form.canonical(content))
					: form.fingerprint(content);
		}
		catch (Throwable ex) {
			if (!ExceptionCauses.mayBeOfContent(ex)) {
				throw ex;
			}
			throw new IdempotencyFingerprintUnusableException("The fingerprint '" + expression + "' "
					+ ((content != null) ? "yields a " + content.getClass().getName() + " that cannot be serialized"
							: "failed")
					+ ": " + describe(ex) + " (" + origin + "). The record is rejected. Change the fingerprint of "
					+ "@Idempotent so that it yields values that can be written as JSON", ex);
		}
	}

	// The messages of exceptions of other libraries and of the application are left out,
	// because they may quote the payload.
	private static String describe(Throwable failure) {
		if (failure instanceof EvaluationException) {
			return String.valueOf(failure.getMessage());
		}
		Throwable root = ExceptionCauses.last(failure);
		String type = failure.getClass().getName();
		return (root != failure) ? type + " caused by " + root.getClass().getName() : type;
	}

	public void reportWithoutKey(Outcome outcome, Duration duration) {
		HandledOperation handled = new HandledOperation(this.settings.listener(), this.settings.mode(), null, outcome,
				duration);
		this.observers.operation((observer) -> observer.handled(handled));
	}

	/**
	 * The settings of a listener method that apply to each of its operations.
	 *
	 * @param listener the name of the listener
	 * @param mode the mode, not {@link Mode#AUTO}
	 * @param lease the lease of a claim
	 * @param retention the retention of a completed key
	 * @param keyHeaders the names of the headers that may hold the key, in order;
	 * {@code a+b} is a key of two headers
	 * @param onMissingKey the policy for records without a usable key
	 * @param onOtherContent the policy for duplicates with other content, not
	 * {@link OtherContentPolicy#DEFAULT}
	 */
	public record Settings(String listener, Mode mode, Duration lease, Duration retention, List<String> keyHeaders,
			MissingKeyPolicy onMissingKey, OtherContentPolicy onOtherContent) {

	}

	/**
	 * A record with its operation.
	 *
	 * @param origin the listener, topic, partition and offset for messages
	 * @param operation the operation, {@code null} if the record is processed without
	 * protection
	 * @param excluded whether the condition excludes the record
	 */
	public record Resolution(Object origin, @Nullable IdempotentOperation operation, boolean excluded) {

	}

	/**
	 * The origin of an operation for messages. It does not hold the record, because a
	 * pending completion keeps it.
	 *
	 * @param listener the name of the listener
	 * @param topic the topic of the record
	 * @param partition the partition of the record
	 * @param offset the offset of the record
	 */
	private record Origin(String listener, String topic, int partition, long offset) {

		@Override
		public String toString() {
			return "listener " + this.listener + ", topic " + this.topic + ", partition " + this.partition + ", offset "
					+ this.offset;
		}

	}

}
