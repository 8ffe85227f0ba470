package dev.idempotency.listener.key;

import java.lang.reflect.Method;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.util.StringValueResolver;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.Idempotent;
import dev.idempotency.MissingKeyPolicy;

/**
 * The expressions of the {@link Idempotent} annotation of one listener method, parsed and
 * checked once at startup.
 *
 * @since 0.1.0
 */
public final class ListenerExpressions {

	private final ListenerParameters parameters;

	private final @Nullable RecordExpression key;

	private final @Nullable RecordExpression fingerprint;

	private final @Nullable RecordVersions versions;

	private final @Nullable RecordExpression condition;

	private final boolean usesPayload;

	private final boolean keyless;

	// The key of a dead letter is its coordinates, so the expressions for key and
	// fingerprint are ignored.
	public ListenerExpressions(Idempotent annotation, StringValueResolver placeholders, Method method,
			Class<?> targetClass, String listener, boolean batch, boolean deadLetter) {
		this.parameters = new ListenerParameters(method);
		DeclaredTypes types = new DeclaredTypes(method, targetClass, this.parameters, batch);
		this.key = deadLetter ? null : parse(placeholders.resolveStringValue(annotation.key()), "key", listener, types);
		this.fingerprint = deadLetter ? null
				: parse(placeholders.resolveStringValue(annotation.fingerprint()), "fingerprint", listener, types);
		RecordExpression version = deadLetter ? null
				: parse(placeholders.resolveStringValue(annotation.version()), "version", listener, types);
		if (version != null && this.key == null) {
			throw new IdempotencyConfigurationException("@Idempotent on " + listener
					+ " has a version but no key. The versions of different entities would not be told apart, and those "
					+ "of one entity not compared.",
					"Set 'key' to the identity of the entity whose state the records replace.");
		}
		this.keyless = this.key == null && annotation.onMissingKey() == MissingKeyPolicy.OFFSET;
		this.versions = (version != null) ? new RecordVersions(version, annotation.onStale()) : null;
		this.condition = parse(placeholders.resolveStringValue(annotation.condition()), "condition", listener, types);
		this.usesPayload = variables().stream()
			.anyMatch((name) -> name.equals("payload") || this.parameters.isPayloadName(name));
	}

	private static @Nullable RecordExpression parse(@Nullable String text, String attribute, String listener,
			DeclaredTypes types) {
		if (text == null || text.isEmpty()) {
			return null;
		}
		try {
			RecordExpression expression = RecordExpression.parse(text, attribute, listener, types.parameters());
			expression.check(types, attribute, listener);
			return expression;
		}
		catch (IdempotencyConfigurationException ex) {
			if (AnnotatedElementUtils.hasAnnotation(types.method(), Idempotent.class)) {
				throw ex;
			}
			throw new IdempotencyConfigurationException(String.valueOf(ex.getMessage()), ex.action()
					+ " The annotation of the class applies to all its listener methods: if the expression is meant for "
					+ "the other methods, annotate this method with @Idempotent of its own.");
		}
	}

	public boolean hasKey() {
		return this.key != null;
	}

	// Whether the annotation declares that the records have no key.
	public boolean isKeyless() {
		return this.keyless;
	}

	public boolean hasFingerprint() {
		return this.fingerprint != null;
	}

	public boolean hasVersion() {
		return this.versions != null;
	}

	Set<String> variables() {
		return Stream
			.of(this.key, this.fingerprint, this.condition, (this.versions != null) ? this.versions.expression() : null)
			.filter(Objects::nonNull)
			.flatMap((expression) -> expression.variables().stream())
			.collect(Collectors.toSet());
	}

	boolean usesPayload() {
		return this.usesPayload;
	}

	ListenerParameters parameters() {
		return this.parameters;
	}

	@Nullable RecordExpression key() {
		return this.key;
	}

	@Nullable RecordExpression fingerprint() {
		return this.fingerprint;
	}

	@Nullable RecordVersions versions() {
		return this.versions;
	}

	@Nullable RecordExpression condition() {
		return this.condition;
	}

}
