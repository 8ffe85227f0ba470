package dev.idempotency.listener;

import java.lang.reflect.Method;
import java.lang.reflect.Type;
import java.time.Duration;
import java.util.function.BiFunction;

import org.jspecify.annotations.Nullable;
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
import dev.idempotency.listener.error.KafkaTransactionCompletions;
import dev.idempotency.listener.key.ListenerExpressions;
import dev.idempotency.listener.key.ListenerScope;
import dev.idempotency.listener.key.OperationResolver;
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
			ListenerScope scope) {
		String name = where(method, targetClass);
		TransactionAttribute transaction = this.transactions.getTransactionAttribute(method, targetClass);
		Mode requested = (annotation.mode() != Mode.AUTO) ? annotation.mode() : this.defaults.mode();
		Mode mode = this.modes.choose(requested, name, targetClass, transaction, shape);
		DurationSetting lease = duration(annotation.lease(), "lease", this.defaults.lease(), name);
		DurationSetting retention = duration(annotation.retention(), "retention", this.defaults.retention(), name);
		DurationSetting.check(lease, retention, name);
		ListenerExpressions expressions = new ListenerExpressions(annotation, this.placeholders, method, targetClass,
				name, shape.batch(), scope.isDeadLetter());
		if (expressions.hasFingerprint()) {
			requireSerialization("declares a fingerprint", name);
		}
		MissingKeyPolicy onMissingKey = (annotation.onMissingKey() != MissingKeyPolicy.DEFAULT)
				? annotation.onMissingKey() : this.defaults.onMissingKey();
		OperationResolver operations = new OperationResolver(new OperationResolver.Settings(name, mode, lease.value(),
				retention.value(), this.defaults.keyHeaders(), onMissingKey), expressions, scope, this.serialization,
				this.listener);
		return new ListenerSettings(name, mode, boundary(transaction, shape, mode), lease.value(), retention.value(),
				operations, codec(shape.resultType(method, targetClass), name), this.template);
	}

	static String where(Method method, Class<?> targetClass) {
		return ClassUtils.getShortName(targetClass) + "." + method.getName();
	}

	// Joining a transaction ignores what the inner one asks for, so the outer one asks.
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
					"The " + attribute + " '" + resolved + "' of @Idempotent on " + where + " is no duration.",
					"Write it like '30s', '5m' or '7d'.");
		}
	}

	private ResultCodec<Object> codec(@Nullable Type result, String where) {
		if (result == null) {
			return ListenerSettings.NO_RESULT;
		}
		Serialization used = requireSerialization("returns a value", where);
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

	private Serialization requireSerialization(String reason, String where) {
		if (this.serialization == null) {
			throw new IdempotencyConfigurationException(
					"The idempotent listener " + where + " " + reason + ", but there is no Jackson to write it.",
					"Add 'spring-boot-starter-jackson', or declare a Serialization bean.");
		}
		return this.serialization;
	}

}
