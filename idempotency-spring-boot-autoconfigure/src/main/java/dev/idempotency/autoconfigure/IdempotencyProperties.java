/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.time.Duration;
import java.util.List;
import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

import dev.idempotency.Internal;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.Mode;
import dev.idempotency.OtherContentPolicy;
import dev.idempotency.cleanup.CleanupJob;
import dev.idempotency.jdbc.Layout;
import dev.idempotency.outbox.OutboxStore;

/**
 * Properties of the library.
 *
 * @param enabled Whether idempotent listeners are protected.
 * @param mode Mode of listeners and template operations that do not specify one.
 * @param lease Lease duration of a claim. Running handlers renew their leases, so it is
 * the time until another consumer can take over the record of a crashed process. Should
 * be shorter than the session timeout of the consumers.
 * @param retention Duration for which the key of a completed operation is stored, counted
 * from its claim. Should exceed the retention of the topics.
 * @param version Settings of keys with versions.
 * @param claimAhead Whether a listener of single records in leased mode claims the key of
 * its next record together with the completion of the current one. Saves a round trip for
 * each new record.
 * @param store Settings of the default store, whatever its type.
 * @param stores Settings of further stores by their names, which listeners select.
 * @param key Settings of the idempotency key.
 * @param result Settings of the stored results.
 * @param jdbc Settings of the JDBC store.
 * @param redis Settings of the Redis store.
 * @param dynamodb Settings of the DynamoDB store.
 * @param circuitBreaker Settings of the circuit breaker around the store.
 * @param cache Settings of the local cache of completed keys.
 * @param require What each Kafka listener must declare.
 * @param cleanup Settings of the job that deletes expired records.
 * @param outbox Settings of the transactional outbox.
 * @since 0.1.0
 */
@Internal
@ConfigurationProperties("idempotency")
public record IdempotencyProperties(@DefaultValue("true") boolean enabled, @DefaultValue("none") Requirement require,
		@DefaultValue("auto") Mode mode, @DefaultValue("30s") Duration lease, @DefaultValue("7d") Duration retention,
		@DefaultValue Version version, @DefaultValue("true") boolean claimAhead, @DefaultValue Store store,
		@DefaultValue Map<String, NamedStore> stores, @DefaultValue Key key, @DefaultValue Result result,
		@DefaultValue Jdbc jdbc, @DefaultValue Redis redis, @DefaultValue DynamoDb dynamodb,
		@DefaultValue CircuitBreaker circuitBreaker, @DefaultValue Cache cache, @DefaultValue Cleanup cleanup,
		@DefaultValue Outbox outbox) {

	/**
	 * Settings of keys with versions.
	 *
	 * @param retention Duration for which the highest version of a key is stored, counted
	 * from its claim. The default of 100 years means without end.
	 */
	public record Version(@DefaultValue("36500d") Duration retention) {

	}

	/**
	 * Settings of the default store, whatever its type.
	 *
	 * @param type Type of the store. Required when there are several candidates.
	 * @param onUnavailable Treatment of records while the store is unavailable.
	 * @param timeout Maximum duration of a call to the store after it has obtained a
	 * connection. Should not exceed a fifth of the lease.
	 * @param migrateFrom Name of the store whose keys move to this one. Claims ask that
	 * store first.
	 */
	public record Store(@Nullable String type, @DefaultValue("wait") UnavailablePolicy onUnavailable,
			@DefaultValue("2s") Duration timeout, @Nullable String migrateFrom) {

	}

	/**
	 * Settings of a further store.
	 *
	 * @param type Type of the store. Required when there are several candidates.
	 * @param onUnavailable Treatment of records while the store is unavailable. Defaults
	 * to that of the default store.
	 * @param timeout Maximum duration of a call to the store after it has obtained a
	 * connection. Defaults to that of the default store.
	 * @param migrateFrom Name of the store whose keys move to this one, 'default' for the
	 * default store. Claims ask that store first.
	 * @param jdbc Settings of a JDBC store.
	 * @param redis Settings of a Redis store.
	 * @param dynamodb Settings of a DynamoDB store.
	 */
	public record NamedStore(@Nullable String type, @Nullable UnavailablePolicy onUnavailable,
			@Nullable Duration timeout, @Nullable String migrateFrom, @DefaultValue Jdbc jdbc,
			@DefaultValue Redis redis, @DefaultValue DynamoDb dynamodb) {

	}

	/**
	 * Settings of the idempotency key.
	 *
	 * @param headers Names of record headers that contain the key, in order of
	 * precedence. A plus sign joins headers that form the key together.
	 * @param onMissing Treatment of records without a usable key. By default "offset" for
	 * listeners that support it, else "record-coordinates".
	 * @param onOtherContent Treatment of duplicates with other content, for listeners
	 * without a fingerprint. Not "reject", which needs a fingerprint.
	 */
	public record Key(List<String> headers, @Nullable MissingKeyPolicy onMissing,
			@DefaultValue("report") OtherContentPolicy onOtherContent) {

		private static final List<String> DEFAULT_HEADERS = List.of("Idempotency-Key", "ce_source+ce_id");

		// Not a compact constructor, because the parameter is nullable and the component
		// is not.
		public Key(@Nullable List<String> headers, @Nullable MissingKeyPolicy onMissing,
				@DefaultValue("report") OtherContentPolicy onOtherContent) {
			this.headers = (headers != null) ? List.copyOf(headers) : DEFAULT_HEADERS;
			this.onMissing = onMissing;
			this.onOtherContent = onOtherContent;
		}

	}

	/**
	 * Settings of the stored results.
	 *
	 * @param maximumSize Maximum size of a result that is stored for duplicates. An
	 * operation with a larger result is completed without it.
	 */
	public record Result(@DefaultValue("256KB") DataSize maximumSize) {

	}

	/**
	 * Settings of the JDBC store.
	 *
	 * @param table Name of the table, with or without a schema.
	 * @param schema Treatment of the database schema at start-up.
	 * @param dataSource Name of the DataSource bean. Required when there are several and
	 * none is primary.
	 * @param transactionManager Name of the transaction manager bean. Required when
	 * several beans manage the store's DataSource.
	 * @param layout Layout of the table.
	 * @param partitionInterval Period that one partition covers, with the partitioned
	 * layout.
	 */
	public record Jdbc(@DefaultValue("idempotency_record") String table, @DefaultValue("migrate") Schema schema,
			@Nullable String dataSource, @Nullable String transactionManager, @DefaultValue("single") Layout layout,
			@DefaultValue("1d") Duration partitionInterval) {

	}

	/**
	 * Settings of the Redis store.
	 *
	 * @param connectionFactory Name of the RedisConnectionFactory bean. Required when
	 * there are several and none is primary.
	 * @param keyPrefix Prefix of all key names in Redis.
	 * @param replicas Number of replicas that must confirm a completion.
	 * @param onEvictionPolicy Reaction at start-up when a server may evict keys before
	 * their retention ends.
	 */
	public record Redis(@Nullable String connectionFactory, @DefaultValue("idempotency:") String keyPrefix,
			@DefaultValue("0") int replicas, @DefaultValue("warn") EvictionPolicy onEvictionPolicy) {

	}

	/**
	 * Settings of the DynamoDB store.
	 *
	 * @param table Name of the table.
	 * @param createTable Whether a missing table is created at start-up, for development.
	 * @param client Name of the DynamoDbClient bean. Required when there are several and
	 * none is primary.
	 * @param maxClockSkew Maximum difference between the clocks of two instances. A
	 * completed key is remembered for this time after its retention.
	 */
	public record DynamoDb(@DefaultValue("idempotency_record") String table, @DefaultValue("false") boolean createTable,
			@Nullable String client, @DefaultValue("5m") Duration maxClockSkew) {

	}

	/**
	 * Settings of the circuit breaker around the store.
	 *
	 * @param enabled Whether calls to a failing store are suspended for some time.
	 * @param slidingWindowSize Number of most recent calls that the failure rate is
	 * calculated from.
	 * @param minimumNumberOfCalls Number of calls before the failure rate is calculated.
	 * @param failureRateThreshold Percentage of failed calls that opens the circuit.
	 * @param waitDurationInOpenState Time for which the circuit stays open before the
	 * store is called again.
	 * @param permittedNumberOfCallsInHalfOpenState Number of claims that are permitted
	 * while the circuit is half-open.
	 */
	public record CircuitBreaker(@DefaultValue("true") boolean enabled, @DefaultValue("10") int slidingWindowSize,
			@DefaultValue("5") int minimumNumberOfCalls, @DefaultValue("50") float failureRateThreshold,
			@DefaultValue("2s") Duration waitDurationInOpenState,
			@DefaultValue("1") int permittedNumberOfCallsInHalfOpenState) {

	}

	/**
	 * Settings of the local cache of completed keys.
	 *
	 * @param enabled Whether completed keys are also cached in this process.
	 * @param maximumSize Approximate memory limit for the entries.
	 * @param timeToLive Maximum age of an entry.
	 */
	public record Cache(@DefaultValue("false") boolean enabled, @DefaultValue("16MB") DataSize maximumSize,
			@DefaultValue("10m") Duration timeToLive) {

	}

	/**
	 * Settings of the job that deletes expired records.
	 *
	 * @param enabled Whether expired records are deleted.
	 * @param interval Time between two runs, varied at random by up to a fifth.
	 * @param timeBudget Maximum duration of a run.
	 * @param batchSize Maximum number of records that one statement deletes.
	 * @param pause Pause before each statement, which limits the load on the database.
	 */
	public record Cleanup(@DefaultValue("true") boolean enabled, @DefaultValue("10m") Duration interval,
			@DefaultValue("5m") Duration timeBudget, @DefaultValue("500") int batchSize,
			@DefaultValue("50ms") Duration pause) {

		CleanupJob.Settings settings() {
			return new CleanupJob.Settings(this.interval, this.timeBudget, this.batchSize, this.pause);
		}

	}

	/**
	 * Settings of the transactional outbox.
	 *
	 * @param enabled Whether the outbox is enabled.
	 * @param relay Process that publishes the messages.
	 * @param table Name of the outbox table, with or without a schema.
	 * @param kafkaTemplate Name of the KafkaTemplate bean whose serializers and producer
	 * settings are used. Required when there are several and none is primary.
	 * @param mdcKeys Keys of the sender's diagnostic context (MDC) whose values are sent
	 * with its messages, each in a header of the same name.
	 * @param retention Duration for which published messages are stored. Set to 0 to
	 * delete them immediately.
	 * @param batchSize Approximate number of messages that the relay claims at a time.
	 * @param threads Number of threads that publish a backlog, 1 or 2. Each needs a
	 * connection to the database and a producer.
	 * @param pollInterval Maximum time between two queries of the relay for new messages.
	 * @param sendTimeout Maximum time for the broker to acknowledge a message. Must not
	 * exceed 2 minutes.
	 * @param maxAttempts Number of refusals by the broker after which a message becomes a
	 * dead letter.
	 * @param onDeadLetter Treatment of messages with the topic and key of an earlier dead
	 * letter. Must be the same in all instances.
	 * @param maxBackOff Maximum back-off between two attempts, while the broker is
	 * unavailable and after a refusal.
	 * @param stopTimeout Time for which the relay keeps publishing messages that were
	 * sent before the application stops. With 0 it waits for the acknowledgments of
	 * pending messages only.
	 * @param listen Whether the relay holds a connection on which it is notified of
	 * messages of other instances. PostgreSQL only.
	 */
	public record Outbox(@DefaultValue("false") boolean enabled, @DefaultValue("embedded") Relay relay,
			@DefaultValue("idempotency_outbox") String table, @Nullable String kafkaTemplate,
			@DefaultValue List<String> mdcKeys, @DefaultValue("1d") Duration retention,
			@DefaultValue("2000") int batchSize, @DefaultValue("2") int threads,
			@DefaultValue("1s") Duration pollInterval, @DefaultValue("20s") Duration sendTimeout,
			@DefaultValue("10") int maxAttempts, @DefaultValue("block-key") OutboxStore.DeadLetterPolicy onDeadLetter,
			@DefaultValue("5s") Duration maxBackOff, @DefaultValue("10s") Duration stopTimeout,
			@DefaultValue("true") boolean listen) {

	}

	/**
	 * Processes that publish the messages of an outbox.
	 */
	public enum Relay {

		/**
		 * This instance and all others with this setting.
		 */
		EMBEDDED,

		/**
		 * Other instances only.
		 */
		NONE,

		/**
		 * A connector that reads the transaction log of the database, such as Debezium.
		 */
		DEBEZIUM

	}

	/**
	 * Reactions at start-up to a server that may evict keys.
	 */
	public enum EvictionPolicy {

		/**
		 * A warning is logged.
		 */
		WARN,

		/**
		 * The application does not start.
		 */
		REFUSE

	}

	/**
	 * Treatments of records while the store is unavailable.
	 */
	public enum UnavailablePolicy {

		/**
		 * Consumption is paused until the store is available.
		 */
		WAIT,

		/**
		 * Records are processed without protection and counted.
		 */
		PROCESS

	}

	/**
	 * Treatments of the database schema at start-up.
	 */
	public enum Schema {

		/**
		 * The schema is migrated to the current version.
		 */
		MIGRATE,

		/**
		 * The schema is validated.
		 */
		VALIDATE,

		/**
		 * The schema is neither migrated nor validated.
		 */
		NONE

	}

	/**
	 * What each Kafka listener must declare.
	 */
	public enum Requirement {

		/**
		 * Nothing: a listener without an annotation is not protected.
		 */
		NONE,

		/**
		 * That it is {@code @Idempotent}, or {@code @NotIdempotent} for a reason.
		 * Otherwise the application does not start.
		 */
		DECLARED

	}

}
