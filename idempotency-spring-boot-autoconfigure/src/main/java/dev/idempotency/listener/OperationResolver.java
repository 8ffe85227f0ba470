package dev.idempotency.listener;

import java.time.Duration;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.expression.EvaluationException;

import dev.idempotency.IdempotencyFingerprintException;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyKeyMissingException;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.store.Fingerprint;
import dev.idempotency.template.IdempotencyListener.Execution;
import dev.idempotency.template.IdempotencyListener.Outcome;
import dev.idempotency.template.IdempotentOperation;
import dev.idempotency.template.Serialization;

/**
 * Turns a record into the operation that it asks for.
 */
final class OperationResolver {

	private final ListenerSettings settings;

	private final ListenerScope scope;

	private final RateLimitedWarnings warnings = new RateLimitedWarnings();

	OperationResolver(ListenerSettings settings, ListenerScope scope) {
		this.settings = settings;
		this.scope = scope;
	}

	/**
	 * Whether the condition leaves a record out. An expression that fails excludes
	 * nothing: protection is the safer side.
	 * @param context the record
	 * @param origin the record, for people
	 * @return whether it is handled without the store
	 */
	boolean isExcluded(RecordContext context, Origin origin) {
		RecordExpression condition = this.settings.condition();
		if (condition == null) {
			return false;
		}
		try {
			return Boolean.FALSE.equals(condition.evaluate(context));
		}
		catch (EvaluationException ex) {
			this.warnings.warn("condition", "The condition '" + condition + "' failed, so the record is protected: "
					+ origin + "; correct the expression", ex);
			return false;
		}
	}

	/**
	 * Find the operation.
	 * @param context the record
	 * @param origin the record, for people
	 * @return the operation, {@code null} if the record has no key and is processed all
	 * the same
	 * @throws IdempotencyKeyMissingException if it has none and is rejected for that
	 * @throws IdempotencyFingerprintException if its content cannot be compared
	 */
	@Nullable IdempotentOperation resolve(RecordContext context, Origin origin) {
		String key;
		byte[] fingerprint = null;
		try {
			if (this.scope.isDeadLetter()) {
				key = RecordCoordinates.key(context.record());
			}
			else {
				key = this.settings.keys().resolve(context, context.record().headers());
				fingerprint = fingerprint(context, origin);
			}
		}
		catch (UnusableKeyException ex) {
			key = withoutKey(ex, context.record(), origin);
		}
		if (key == null) {
			return null;
		}
		return new IdempotentOperation(IdempotencyKey.of(this.scope.of(context.record()), key), this.settings.name(),
				origin, this.settings.mode(), fingerprint, this.settings.lease(), this.settings.retention());
	}

	private @Nullable String withoutKey(UnusableKeyException reason, ConsumerRecord<?, ?> record, Origin origin) {
		MissingKeyPolicy policy = this.settings.onMissingKey();
		this.settings.listener().keyMissing(this.settings.name(), policy);
		String why = String.valueOf(reason.getMessage());
		String what = "The record has no usable idempotency key, " + why + ": " + origin;
		switch (policy) {
			case REJECT -> {
				executed(Outcome.REJECTED, Duration.ZERO);
				throw new IdempotencyKeyMissingException(what + "; it is rejected. " + remedy(reason),
						reason.getCause());
			}
			case PROCESS -> {
				this.warnings.warn(why, what + "; it is processed without protection, so neither a redelivery nor "
						+ "a copy is recognised. " + remedy(reason), reason.getCause());
				return null;
			}
			default -> {
				this.warnings.warn(why,
						what + "; its coordinates are the key, so a redelivery is recognised, but a copy "
								+ "that is sent again is not. " + remedy(reason),
						reason.getCause());
				return this.scope.coordinates(record);
			}
		}
	}

	private static String remedy(UnusableKeyException reason) {
		return (reason.getCause() instanceof EvaluationException) ? "Correct the expression"
				: "Make the producer send a key";
	}

	private byte @Nullable [] fingerprint(RecordContext context, Origin origin) {
		RecordExpression expression = this.settings.fingerprint();
		if (expression == null) {
			byte[] sent = RecordHeaders.fingerprint(context.record().headers());
			return (sent != null) ? Fingerprint.ofMessage(sent) : null;
		}
		Object content = null;
		try {
			content = expression.evaluate(context);
			Serialization serialization = this.settings.serialization();
			return Fingerprint.of(serialization.canonicalVersion(), serialization.canonical(content));
		}
		catch (RuntimeException ex) {
			executed(Outcome.REJECTED, Duration.ZERO);
			throw new IdempotencyFingerprintException("The fingerprint '" + expression + "' "
					+ ((content != null) ? "yields a " + content.getClass().getName() + " that cannot be compared"
							: "failed")
					+ ", " + reason(ex) + ": " + origin + "; the record is rejected. Change the fingerprint of "
					+ "@Idempotent so that it yields values that can be written as JSON", ex);
		}
	}

	// Not the text of what another library or the application throws: it may quote the
	// payload.
	private static String reason(RuntimeException failure) {
		if (failure instanceof EvaluationException) {
			return String.valueOf(failure.getMessage());
		}
		Throwable root = NestedExceptionUtils.getMostSpecificCause(failure);
		String type = failure.getClass().getName();
		return (root != failure) ? type + " caused by " + root.getClass().getName() : type;
	}

	/**
	 * Tell how a record without a key ended.
	 * @param outcome how
	 * @param duration how long it took
	 */
	void executed(Outcome outcome, Duration duration) {
		this.settings.listener()
			.executed(new Execution(this.settings.name(), this.settings.mode(), null, outcome, duration));
	}

}
