/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a {@code @KafkaListener} method whose records take effect once per idempotency
 * key: a redelivered or re-sent record does not run the method again. On a class, the
 * annotation applies to every listener method of the class. It can be used as a
 * meta-annotation.
 * <p>
 * With the Kafka binder of Spring Cloud Stream, it also marks functions: on the bean
 * method of a {@code Function} or {@code Consumer}, or on a class that implements one.
 * The function must receive single records and must not be reactive.
 * <p>
 * For a duplicate, the stored result of the method is replayed; a duplicate of a
 * {@code void} method is skipped. In both cases the record is acknowledged.
 * <p>
 * The annotation protects deliveries by a listener container. A direct call of the method
 * runs it without protection.
 * <p>
 * All attributes support property placeholders. SpEL expressions can use {@code #record}
 * (the {@code ConsumerRecord}), {@code #payload}, {@code #headers} (a map of the record's
 * headers as text) and each parameter by its name. Expressions are parsed and checked
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
	 * the headers of {@code idempotency.key.headers} are used, then
	 * {@link #onMissingKey()} applies. The parts of a sum are joined as text, including
	 * numbers; if one part is {@code null}, there is no key. The application does not
	 * start if the expression uses a property or method that the declared type of the
	 * payload or of a parameter does not have, unless that type is an interface, an
	 * abstract class, {@link Object} or a map.
	 * @return the expression
	 */
	String key() default "";

	/**
	 * The scope of the keys. The same key in two scopes is two operations. By default the
	 * scope is {@code <group>/<topic>}: the consumer group of the main listener and its
	 * topic, or the topic of the record for a topic pattern. For a {@code @KafkaHandler}
	 * method it is {@code <group>/<topic>#<method>}. Classes, packages and parameter
	 * types are not part of it. Set a scope to rename a group or a topic without losing
	 * the memory of its keys.
	 * <p>
	 * Listeners that each process the same record need different scopes. This concerns
	 * listeners with manually assigned partitions, in one application or in several
	 * instances of it, and {@code @KafkaHandler} methods with the same name. The
	 * dead-letter handler of a retry topic configuration has the scope
	 * {@code <group>/<topic>#dead-letter}, and the coordinates of the dead letter are its
	 * key.
	 * @return the scope
	 */
	String scope() default "";

	/**
	 * The mode of protection. {@link Mode#AUTO} selects {@code idempotency.mode}.
	 * @return the mode
	 */
	Mode mode() default Mode.AUTO;

	/**
	 * SpEL expression for the content that a key stands for, often {@code #payload}. If
	 * it is set, a record whose content differs from that of the completed or running
	 * operation with the same key is rejected with {@link IdempotencyKeyReusedException}.
	 * The expression may yield any value that can be written as JSON, Avro and Protobuf
	 * values, and bytes. A record for which it fails is rejected with
	 * {@link IdempotencyFingerprintUnusableException}. If it is not set, the header
	 * {@code Idempotency-Fingerprint} of the record is compared, if there is one;
	 * messages of the outbox have it. Otherwise the value of the record is compared, and
	 * {@link #onOtherContent()} applies.
	 * @return the expression
	 */
	String fingerprint() default "";

	/**
	 * The reaction to a duplicate whose content differs from that of the operation for
	 * which its key stands. By default such a duplicate of a listener with a
	 * {@link #fingerprint()} is rejected, and others are reported.
	 * @return the policy
	 */
	OtherContentPolicy onOtherContent() default OtherContentPolicy.DEFAULT;

	/**
	 * SpEL expression for the version of the content, for records that replace the state
	 * of an entity whose identity is the {@link #key()}. An operation is run only if its
	 * version is higher than the one of its key that completed last. An equal version is
	 * a duplicate; for a lower one, {@link #onStale()} applies. The expression yields a
	 * whole number of 64 bits, an instant, a date with a time zone, or one of these as
	 * text; instants count in nanoseconds, from the year 1678 to 2262. A record for which
	 * it yields anything else is rejected with
	 * {@link IdempotencyVersionUnusableException}.
	 * <p>
	 * The versions of a key are remembered for {@code idempotency.version.retention}, by
	 * default without end. A batch is given only the highest version of a key among its
	 * records.
	 * @return the expression
	 */
	String version() default "";

	/**
	 * The reaction to a record whose version is too low.
	 * @return the policy
	 */
	StalePolicy onStale() default StalePolicy.SKIP;

	/**
	 * The store of the keys: a name in {@code idempotency.stores}, or the name of an
	 * {@code IdempotencyTemplate} bean of the application. By default it is the store of
	 * {@code idempotency.store}. The same key in two stores is two operations. A change
	 * of the store loses the memory of its keys, unless they are migrated with
	 * {@code idempotency.stores.<name>.migrate-from}.
	 * @return the name
	 */
	String store() default "";

	/**
	 * SpEL expression that excludes records. If it yields {@code false}, the method runs
	 * without protection, the store keeps no record, and the meters do not count the
	 * record.
	 * @return the expression
	 */
	String condition() default "";

	/**
	 * The lease of a claim, for example {@code 30s}; by default
	 * {@code idempotency.lease}. It applies to leased mode only. The lease is renewed
	 * while the method runs. It therefore limits how long a record is blocked after its
	 * process died, not how long the method may run. The minimum is one second. Below
	 * five times {@code idempotency.store.timeout} a warning is logged at start-up.
	 * @return the duration
	 */
	String lease() default "";

	/**
	 * The retention of a completed key, counted from its claim; by default
	 * {@code idempotency.retention}, for keys with versions
	 * {@code idempotency.version.retention}.
	 * @return the duration
	 */
	String retention() default "";

	/**
	 * Exceptions with which the method declines its operation for good, as with
	 * {@link OperationDeclinedException}. The stored reason is the class and the message
	 * of the exception; the reply is empty. An exception of the commit is a failure in
	 * transactional mode. Classes that include errors of this library or of the JVM are
	 * refused at start-up.
	 * @return the exception classes, which include their subclasses
	 */
	Class<? extends Throwable>[] declineFor() default {};

	/**
	 * The policy for a record without a usable key. {@link MissingKeyPolicy#DEFAULT}
	 * selects {@code idempotency.key.on-missing}, else {@link MissingKeyPolicy#OFFSET}
	 * for listeners that support it and {@link MissingKeyPolicy#RECORD_COORDINATES} for
	 * others.
	 * <p>
	 * {@link MissingKeyPolicy#OFFSET} without a {@link #key()} declares that no record
	 * has a key: offsets are compared only, and the headers of
	 * {@code idempotency.key.headers} are ignored.
	 * @return the policy
	 */
	MissingKeyPolicy onMissingKey() default MissingKeyPolicy.DEFAULT;

}
