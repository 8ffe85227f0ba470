package dev.idempotency.listener;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;

import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.expression.EvaluationException;

import dev.idempotency.Boundary;
import dev.idempotency.Executed;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyKeyMissingException;
import dev.idempotency.IdempotencyListener.Execution;
import dev.idempotency.IdempotencyListener.Outcome;
import dev.idempotency.IdempotentOperation;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.OperationBlockedException;

/**
 * One {@code @Idempotent} method of one endpoint: turns a delivery into an operation.
 */
final class ProtectedListener {

	private static final byte[] NO_CONTENT = new byte[32];

	private final ListenerSettings settings;

	private final String scope;

	private final WarnOnce warnings = new WarnOnce();

	ProtectedListener(ListenerSettings settings, String scope) {
		this.settings = settings;
		this.scope = scope;
	}

	@Nullable Object invoke(MethodInvocation invocation, Delivery delivery) throws Throwable {
		RecordContext context = new RecordContext(this.settings.parameters(), delivery.record(),
				invocation.getArguments());
		Origin origin = new Origin(this.settings.name(), delivery.record());
		if (isExcluded(context, origin)) {
			return invocation.proceed();
		}
		IdempotentOperation operation = operation(context, origin);
		if (operation == null) {
			return unprotected(invocation);
		}
		try {
			Executed<Object> executed = this.settings.template()
				.execute(operation, this.settings.codec(), Boundary.of(this.settings.transaction()),
						invocation::proceed);
			if (executed.duplicate()) {
				delivery.acknowledge();
			}
			return executed.result();
		}
		catch (OperationBlockedException ex) {
			delivery.block(ex);
			throw ex;
		}
	}

	// An expression that fails excludes nothing: protection is the safer side.
	private boolean isExcluded(RecordContext context, Origin origin) {
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

	private @Nullable IdempotentOperation operation(RecordContext context, Origin origin) {
		String key;
		byte[] fingerprint = null;
		try {
			key = this.settings.keys().resolve(context, origin.record().headers());
			fingerprint = fingerprint(context, origin);
		}
		catch (UnusableKeyException ex) {
			key = withoutKey(ex, origin);
		}
		if (key == null) {
			return null;
		}
		return new IdempotentOperation(IdempotencyKey.of(this.scope, key), this.settings.name(), origin,
				this.settings.mode(), fingerprint, this.settings.lease(), this.settings.retention());
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
				return RecordCoordinates.key(origin.record());
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

	private @Nullable Object unprotected(MethodInvocation invocation) throws Throwable {
		long start = System.nanoTime();
		try {
			return invocation.proceed();
		}
		finally {
			executed(Outcome.UNPROTECTED, Duration.ofNanos(System.nanoTime() - start));
		}
	}

	private void executed(Outcome outcome, Duration duration) {
		this.settings.listener()
			.executed(new Execution(this.settings.name(), this.settings.mode(), null, outcome, duration));
	}

}
