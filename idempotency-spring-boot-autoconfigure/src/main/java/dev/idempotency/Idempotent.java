package dev.idempotency;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a {@code @KafkaListener} method whose records take effect once per idempotency
 * key: a redelivered or re-sent record does not run the method again. On a class it
 * applies to every listener method of it. Works as a meta-annotation.
 * <p>
 * A duplicate of a method that returns a value gets the stored value returned again; a
 * duplicate of a {@code void} method is skipped. Either way the record is acknowledged.
 * <p>
 * The annotation protects deliveries by a listener container. A direct call of the method
 * runs it without protection.
 * <p>
 * All attributes take property placeholders. SpEL sees {@code #record} (the
 * {@code ConsumerRecord}), {@code #payload}, {@code #headers} (a map of the record's
 * headers as text) and each parameter by its name; expressions are parsed and checked
 * when the listener is registered.
 *
 * @since 0.1.0
 */
@Target({ ElementType.METHOD, ElementType.TYPE })
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface Idempotent {

	/**
	 * SpEL expression for the idempotency key. If it is not set or yields {@code null},
	 * the headers named by {@code idempotency.key.headers} are tried, then
	 * {@link #onMissingKey()} applies. The parts of a sum are joined as text, numbers
	 * too, and a part that is {@code null} means no key. A property or method that the
	 * declared type of the payload or of a parameter does not have stops the start,
	 * unless that type is an interface, an abstract class, {@link Object} or a map.
	 * @return the expression
	 */
	String key() default "";

	/**
	 * The name under which keys are remembered: the same key in two scopes is two
	 * operations. Default: {@code <group>/<topic>}, the consumer group of the main
	 * listener and its topic, for a topic pattern that of the record; for a
	 * {@code @KafkaHandler} method {@code <group>/<topic>#<method>}. Nothing else of the
	 * code is part of it. Set it to rename a group or a topic without forgetting keys.
	 * Listeners that are to process the same record each need a scope each: those whose
	 * partitions are assigned by hand, in one application or in several instances of it,
	 * and {@code @KafkaHandler} methods of one name. The dead-letter handler of a retry
	 * topic configuration has the scope {@code <group>/<topic>#dead-letter}, and the
	 * coordinates of the dead letter are its key.
	 * @return the scope
	 */
	String scope() default "";

	/**
	 * How the operation is protected; {@link Mode#AUTO} means {@code idempotency.mode}.
	 * @return the mode
	 */
	Mode mode() default Mode.AUTO;

	/**
	 * SpEL expression for the content that a key stands for, often {@code #payload}. When
	 * set, the same key with other content than that of a completed operation, or of one
	 * in progress, is an error instead of a duplicate. It may yield anything that can be
	 * written as JSON, values of Avro and Protobuf, and bytes; a record for which it
	 * fails is rejected with {@link IdempotencyFingerprintException}. When not set, the
	 * header {@code Idempotency-Fingerprint} of the record is compared, if there is one,
	 * as in messages of an outbox.
	 * @return the expression
	 */
	String fingerprint() default "";

	/**
	 * SpEL expression that excludes records: where it yields {@code false} the method
	 * runs without protection and leaves no record in the store.
	 * @return the expression
	 */
	String condition() default "";

	/**
	 * How long a claim lives, for example {@code 30s}. Default:
	 * {@code idempotency.lease}. Leased mode only. A running method renews its lease, so
	 * this is how long the record of a process that died waits, not the longest run of
	 * the method. At least a second; below five times {@code idempotency.store.timeout} a
	 * warning is logged at start-up.
	 * @return the duration
	 */
	String lease() default "";

	/**
	 * How long a completed key is remembered, counted from its claim. Default:
	 * {@code idempotency.retention}.
	 * @return the duration
	 */
	String retention() default "";

	/**
	 * What happens without a usable key; {@link MissingKeyPolicy#DEFAULT} means
	 * {@code idempotency.key.on-missing}.
	 * @return the policy
	 */
	MissingKeyPolicy onMissingKey() default MissingKeyPolicy.DEFAULT;

}
