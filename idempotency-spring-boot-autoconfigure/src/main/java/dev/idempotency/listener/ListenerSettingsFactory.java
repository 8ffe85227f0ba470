package dev.idempotency.listener;

import java.lang.reflect.Method;
import java.lang.reflect.Type;
import java.time.Duration;
import java.util.function.BiFunction;

import org.jspecify.annotations.Nullable;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.format.datetime.standard.DurationFormatterUtils;
import org.springframework.transaction.annotation.AnnotationTransactionAttributeSource;
import org.springframework.transaction.interceptor.TransactionAttribute;
import org.springframework.transaction.support.DefaultTransactionDefinition;
import org.springframework.util.ClassUtils;
import org.springframework.util.StringUtils;
import org.springframework.util.StringValueResolver;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.Idempotent;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.Mode;
import dev.idempotency.template.IdempotencyListener;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.ResultCodec;
import dev.idempotency.template.Serialization;
import dev.idempotency.template.TransactionBoundary;

/**
 * Reads the annotation of a listener method.
 *
 * @since 0.1.0
 */
public final class ListenerSettingsFactory {

	private final IdempotencyTemplate template;

	private final @Nullable Serialization serialization;

	private final ListenerDefaults defaults;

	private final IdempotencyListener listener;

	private final StringValueResolver placeholders;

	private final ModeChoice modes;

	private final AnnotationTransactionAttributeSource transactions = new AnnotationTransactionAttributeSource(false);

	/**
	 * Create a factory.
	 * @param template the protocol
	 * @param serialization how results are kept, {@code null} if nothing can keep them
	 * @param defaults what applies where the annotation is silent
	 * @param listener who is told
	 * @param placeholders resolves placeholders
	 * @param foreignTransactions describes the transaction manager of a handler's own
	 * transactions, {@code null} if it is that of the store
	 */
	public ListenerSettingsFactory(IdempotencyTemplate template, @Nullable Serialization serialization,
			ListenerDefaults defaults, IdempotencyListener listener, StringValueResolver placeholders,
			BiFunction<TransactionAttribute, Class<?>, @Nullable String> foreignTransactions) {
		this.template = template;
		this.serialization = serialization;
		this.defaults = defaults;
		this.listener = listener;
		this.placeholders = placeholders;
		this.modes = new ModeChoice(template, foreignTransactions);
		this.transactions.setEmbeddedValueResolver(placeholders);
	}

	Duration storeTimeout() {
		return this.defaults.storeTimeout();
	}

	String resolve(String text) {
		String resolved = this.placeholders.resolveStringValue(text);
		return (resolved != null) ? resolved : "";
	}

	ListenerSettings create(Idempotent annotation, Method method, Class<?> targetClass, ListenerShape shape,
			boolean deadLetter) {
		String where = where(method, targetClass);
		ListenerParameters parameters = new ListenerParameters(method);
		DeclaredTypes types = new DeclaredTypes(method, targetClass, parameters, shape.batch());
		TransactionAttribute attribute = this.transactions.getTransactionAttribute(method, targetClass);
		Mode asked = (annotation.mode() != Mode.AUTO) ? annotation.mode() : this.defaults.mode();
		Mode mode = this.modes.choose(asked, where, targetClass, attribute, shape);
		DurationSetting lease = duration(annotation.lease(), "lease", this.defaults.lease(), where);
		DurationSetting retention = duration(annotation.retention(), "retention", this.defaults.retention(), where);
		DurationSetting.check(lease, retention, where);
		// The key of a dead letter is its coordinates, which no other content has.
		RecordExpression key = deadLetter ? null
				: expression(annotation.key(), "key", where, parameters, types, method);
		RecordExpression fingerprint = deadLetter ? null
				: expression(annotation.fingerprint(), "fingerprint", where, parameters, types, method);
		return new ListenerSettings(where, parameters, mode, boundary(attribute, shape, mode), lease.value(),
				retention.value(), new KeyResolver(key, this.defaults.keyHeaders()),
				(annotation.onMissingKey() != MissingKeyPolicy.DEFAULT) ? annotation.onMissingKey()
						: this.defaults.onMissingKey(),
				fingerprint, expression(annotation.condition(), "condition", where, parameters, types, method),
				codec(shape.resultType(method, targetClass), where),
				serialization(fingerprint != null, "declares a fingerprint", where), this.template, this.listener);
	}

	static String where(Method method, Class<?> targetClass) {
		return ClassUtils.getShortName(targetClass) + "." + method.getName();
	}

	private @Nullable RecordExpression expression(String text, String attribute, String where,
			ListenerParameters parameters, DeclaredTypes types, Method method) {
		try {
			RecordExpression expression = RecordExpression.parse(resolve(text), attribute, where, parameters);
			if (expression != null) {
				expression.check(types, attribute, where);
			}
			return expression;
		}
		catch (IdempotencyConfigurationException ex) {
			if (AnnotatedElementUtils.hasAnnotation(method, Idempotent.class)) {
				throw ex;
			}
			// The expression may well be right for the other methods of the class.
			throw new IdempotencyConfigurationException(String.valueOf(ex.getMessage()), ex.action()
					+ " If the expression is meant for other methods of the class, give this one an @Idempotent of its own.");
		}
	}

	// Joining a transaction ignores what the inner one asks for, so the outer one asks.
	private static TransactionBoundary boundary(@Nullable TransactionAttribute attribute, ListenerShape shape,
			Mode mode) {
		if (shape.kafkaTransaction()) {
			return TransactionBoundary.deferred(KafkaTransactionCompletions::hold);
		}
		if (mode == Mode.LEASED && shape.acknowledging() && !shape.batch() && shape.async() == null) {
			return TransactionBoundary.deferred(UnacknowledgedRecords.DEFERRAL);
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
					"The " + attribute + " '" + resolved + "' of @Idempotent on " + where + " is no duration.",
					"Write it like '30s', '5m' or '7d'.");
		}
	}

	private ResultCodec<Object> codec(@Nullable Type result, String where) {
		if (result == null) {
			return ListenerSettings.NO_RESULT;
		}
		Serialization used = serialization(true, "returns a value", where);
		try {
			return used.codec(result);
		}
		catch (IllegalArgumentException ex) {
			throw new IdempotencyConfigurationException(
					"The idempotent listener " + where + " returns " + result.getTypeName()
							+ ", which can be stored but not read back for a duplicate: " + ex.getMessage() + ".",
					"Return a class or record that can be read back, add @JsonCreator or @JsonTypeInfo to the type, "
							+ "or declare a Serialization bean.");
		}
	}

	private Serialization serialization(boolean needed, String why, String where) {
		if (this.serialization != null) {
			return this.serialization;
		}
		if (!needed) {
			return new NoSerialization();
		}
		throw new IdempotencyConfigurationException(
				"The idempotent listener " + where + " " + why + ", but there is no Jackson to write it.",
				"Add 'spring-boot-starter-jackson', or declare a Serialization bean.");
	}

}
