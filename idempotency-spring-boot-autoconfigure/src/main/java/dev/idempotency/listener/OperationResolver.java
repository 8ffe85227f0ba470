package dev.idempotency.listener;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;

import org.jspecify.annotations.Nullable;
import org.springframework.expression.EvaluationException;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyKeyMissingException;
import dev.idempotency.IdempotencyListener.Execution;
import dev.idempotency.IdempotencyListener.Outcome;
import dev.idempotency.IdempotentOperation;
import dev.idempotency.MissingKeyPolicy;

/**
 * Turns a record into the operation that it asks for.
 */
final class OperationResolver {

	private static final byte[] NO_CONTENT = new byte[32];

	private final ListenerSettings settings;

	private final ListenerScope scope;

	private final WarnOnce warnings = new WarnOnce();

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
	 */
	@Nullable IdempotentOperation resolve(RecordContext context, Origin origin) {
		String key;
		byte[] fingerprint = null;
		try {
			if (this.scope.isDeadLetter()) {
				key = RecordCoordinates.key(origin.record());
			}
			else {
				key = this.settings.keys().resolve(context, origin.record().headers());
				fingerprint = fingerprint(context, origin);
			}
		}
		catch (UnusableKeyException ex) {
			key = withoutKey(ex, origin);
		}
		if (key == null) {
			return null;
		}
		return new IdempotentOperation(IdempotencyKey.of(this.scope.of(origin.record()), key), this.settings.name(),
				origin, this.settings.mode(), fingerprint, this.settings.lease(), this.settings.retention());
	}

	private @Nullable String withoutKey(UnusableKeyException reason, Origin origin) {
		MissingKeyPolicy policy = this.settings.onMissingKey();
		this.settings.listener().keyMissing(this.settings.name(), policy);
		String why = String.valueOf(reason.getMessage());
		String what = "The record has no usable idempotency key, " + why + ": " + origin;
		switch (policy) {
			case REJECT -> {
				executed(Outcome.REJECTED, Duration.ZERO);
				throw new IdempotencyKeyMissingException(what + "; it is rejected. Make the producer send a key",
						reason.getCause());
			}
			case PROCESS -> {
				this.warnings.warn(why, what + "; it is processed without protection. Make the producer send a key",
						reason.getCause());
				return null;
			}
			default -> {
				this.warnings.warn(why,
						what + "; its coordinates are the key, which protects from "
								+ "re-delivery but not from a second send. Make the producer send a key",
						reason.getCause());
				return this.scope.coordinates(origin.record());
			}
		}
	}

	private byte @Nullable [] fingerprint(RecordContext context, Origin origin) {
		RecordExpression expression = this.settings.fingerprint();
		if (expression == null) {
			return null;
		}
		try {
			Object content = expression.evaluate(context);
			byte[] bytes = (content instanceof byte[] raw) ? raw : this.settings.serialization().canonical(content);
			return MessageDigest.getInstance("SHA-256").digest(bytes);
		}
		catch (NoSuchAlgorithmException ex) {
			throw new IllegalStateException("Every Java platform has SHA-256", ex);
		}
		catch (RuntimeException ex) {
			// Content like no other: with a known key it is refused, with a new one
			// processed.
			this.warnings.warn("fingerprint", "The fingerprint '" + expression + "' failed with "
					+ ex.getClass().getName() + ": " + origin + "; correct the expression", null);
			return NO_CONTENT;
		}
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
