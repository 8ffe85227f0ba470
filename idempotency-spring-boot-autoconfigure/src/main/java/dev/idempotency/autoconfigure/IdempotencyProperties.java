package dev.idempotency.autoconfigure;

import java.time.Duration;
import java.util.List;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.Mode;
import dev.idempotency.cleanup.CleanupSettings;
import dev.idempotency.jdbc.Layout;
import dev.idempotency.outbox.OnRefused;

/**
 * Properties of idempotent listeners.
 *
 * @param enabled Whether idempotent listeners are protected.
 * @param mode Mode of listeners that do not name one.
 * @param lease Life of a claim without renewal. Running handlers renew theirs, so it is
 * how long the record of a crashed process waits. Should be shorter than the session
 * time-out of the consumers.
 * @param retention Memory of a completed key, counted from its claim. Should exceed the
 * retention of the topics.
 * @param store Store settings.
 * @param key Key settings.
 * @param jdbc Settings of the JDBC store.
 * @param redis Settings of the Redis store.
 * @param circuitBreaker Settings of the circuit breaker around the store.
 * @param cache Settings of the local cache of completed keys.
 * @param cleanup Settings of the job that deletes expired records.
 * @param outbox Settings of the transactional outbox.
 * @since 0.1.0
 */
@ConfigurationProperties("idempotency")
public record IdempotencyProperties(@DefaultValue("true") boolean enabled, @DefaultValue("auto") Mode mode,
		@DefaultValue("30s") Duration lease, @DefaultValue("7d") Duration retention, @DefaultValue Store store,
		@DefaultValue Key key, @DefaultValue Jdbc jdbc, @DefaultValue Redis redis,
		@DefaultValue CircuitBreaker circuitBreaker, @DefaultValue Cache cache, @DefaultValue Cleanup cleanup,
		@DefaultValue Outbox outbox) {

	/**
	 * Settings of every store.
	 *
	 * @param type Store to use. Needed when there are several candidates.
	 * @param onUnavailable What happens to records while the store is unavailable.
	 * @param timeout Longest time that a call of the store may take once it has a
	 * connection. Should be a fifth of the lease at most.
	 */
	public record Store(@Nullable StoreType type, @DefaultValue("wait") OnUnavailable onUnavailable,
			@DefaultValue("2s") Duration timeout) {

	}

	/**
	 * Settings of the idempotency key.
	 *
	 * @param headers Names of record headers that hold the key, in order. A plus sign
	 * joins headers that make up a key together.
	 * @param onMissing What happens to a record without a usable key.
	 */
	public record Key(List<String> headers, MissingKeyPolicy onMissing) {

		private static final List<String> DEFAULT_HEADERS = List.of("Idempotency-Key", "ce_source+ce_id");

		// Written out in full: what the component says is not the parameter's.
		public Key(@Nullable List<String> headers, @DefaultValue("record-coordinates") MissingKeyPolicy onMissing) {
			this.headers = (headers != null) ? List.copyOf(headers) : DEFAULT_HEADERS;
			this.onMissing = onMissing;
		}

	}

	/**
	 * Settings of the JDBC store.
	 *
	 * @param table Name of the table, with or without a schema.
	 * @param schema What is done about the schema at start-up.
	 * @param dataSource Name of the DataSource bean. Needed when there are several and
	 * none is primary.
	 * @param transactionManager Name of the transaction manager bean. Needed when several
	 * manage the store's DataSource.
	 * @param layout How the records are kept in the database.
	 * @param partitionInterval How long a partition is filled, with the partitioned
	 * layout.
	 * @param convert Whether a single table is converted to the partitioned layout, which
	 * cannot be undone.
	 */
	public record Jdbc(@DefaultValue("idempotency_record") String table, @DefaultValue("migrate") Schema schema,
			@Nullable String dataSource, @Nullable String transactionManager, @DefaultValue("single") Layout layout,
			@DefaultValue("1d") Duration partitionInterval, @DefaultValue("false") boolean convert) {

	}

	/**
	 * Settings of the Redis store.
	 *
	 * @param keyPrefix Beginning of the names of all keys.
	 * @param replicas Replicas that must confirm a completion.
	 * @param onEvictionPolicy What happens at start-up when a server may evict keys
	 * before their retention ends.
	 */
	public record Redis(@DefaultValue("idempotency:") String keyPrefix, @DefaultValue("0") int replicas,
			@DefaultValue("warn") OnEvictionPolicy onEvictionPolicy) {

	}

	/**
	 * Settings of the circuit breaker around the store.
	 *
	 * @param enabled Whether a store that fails is left alone for a while.
	 * @param slidingWindowSize Number of latest calls that are looked at.
	 * @param minimumNumberOfCalls Number of calls before the failure rate counts.
	 * @param failureRateThreshold Percentage of failed calls that opens the circuit.
	 * @param waitDurationInOpenState Time until the store is tried again.
	 * @param permittedNumberOfCallsInHalfOpenState Number of claims that try it.
	 */
	public record CircuitBreaker(@DefaultValue("true") boolean enabled, @DefaultValue("10") int slidingWindowSize,
			@DefaultValue("5") int minimumNumberOfCalls, @DefaultValue("50") float failureRateThreshold,
			@DefaultValue("2s") Duration waitDurationInOpenState,
			@DefaultValue("1") int permittedNumberOfCallsInHalfOpenState) {

	}

	/**
	 * Settings of the local cache of completed keys.
	 *
	 * @param enabled Whether completed keys are remembered in this process too.
	 * @param maximumSize Memory that the entries may take, about.
	 * @param timeToLive Longest time that an entry is used.
	 */
	public record Cache(@DefaultValue("false") boolean enabled, @DefaultValue("16MB") DataSize maximumSize,
			@DefaultValue("10m") Duration timeToLive) {

	}

	/**
	 * Settings of the cleanup.
	 *
	 * @param enabled Whether expired records are deleted.
	 * @param interval Time between two runs, give or take a fifth.
	 * @param timeBudget Longest time that a run may take.
	 * @param batchSize Records that a statement deletes at most.
	 * @param pause Time before each statement in which the database is left alone.
	 */
	public record Cleanup(@DefaultValue("true") boolean enabled, @DefaultValue("10m") Duration interval,
			@DefaultValue("5m") Duration timeBudget, @DefaultValue("500") int batchSize,
			@DefaultValue("50ms") Duration pause) {

		CleanupSettings settings() {
			return new CleanupSettings(this.interval, this.timeBudget, this.batchSize, this.pause);
		}

	}

	/**
	 * Settings of the transactional outbox.
	 *
	 * @param enabled Whether there is an outbox.
	 * @param relay Who publishes its messages.
	 * @param table Name of its table, with or without a schema.
	 * @param kafkaTemplate Name of the KafkaTemplate bean whose serializers and producer
	 * settings are used. Needed when there are several and none is primary.
	 * @param mdcKeys Keys of the sender's diagnostic context (MDC) whose values travel
	 * with its messages, each in a header of that name.
	 * @param retention How long a published message is kept. With 0 it is deleted at
	 * once.
	 * @param batchSize Messages that the relay claims at once, about.
	 * @param pollInterval Longest time between two looks at the outbox.
	 * @param sendTimeout Longest time that the broker may take for a message, 2 minutes
	 * at most.
	 * @param maxAttempts How often the broker may refuse a message before it is set
	 * aside.
	 * @param onRefused Whether messages wait while an earlier one with their topic and
	 * key is set aside. The same in all instances.
	 * @param maxBackOff Longest time between two tries, while the broker does not answer
	 * and after a refusal.
	 * @param stopTimeout How long the relay, when the application stops, goes on with
	 * messages that were sent before. With 0 it only waits for the broker's answers.
	 * @param listen Whether the relay keeps a connection on which it hears of messages of
	 * other instances. PostgreSQL only.
	 */
	public record Outbox(@DefaultValue("false") boolean enabled, @DefaultValue("embedded") Relay relay,
			@DefaultValue("idempotency_outbox") String table, @Nullable String kafkaTemplate,
			@DefaultValue List<String> mdcKeys, @DefaultValue("1d") Duration retention,
			@DefaultValue("500") int batchSize, @DefaultValue("1s") Duration pollInterval,
			@DefaultValue("20s") Duration sendTimeout, @DefaultValue("10") int maxAttempts,
			@DefaultValue("block-key") OnRefused onRefused, @DefaultValue("5s") Duration maxBackOff,
			@DefaultValue("10s") Duration stopTimeout, @DefaultValue("true") boolean listen) {

	}

	/**
	 * Who publishes the messages of an outbox.
	 */
	public enum Relay {

		/**
		 * This instance, and others with this setting.
		 */
		EMBEDDED,

		/**
		 * Other instances.
		 */
		NONE,

		/**
		 * A connector that reads the log of the database, such as Debezium's.
		 */
		DEBEZIUM

	}

	/**
	 * Stores.
	 */
	public enum StoreType {

		/**
		 * A table in a relational database.
		 */
		JDBC,

		/**
		 * Redis or Valkey: standalone, with Sentinel, or a cluster.
		 */
		REDIS,

		/**
		 * The memory of this process, for tests: forgotten at its end, unknown to others.
		 */
		IN_MEMORY

	}

	/**
	 * What happens at start-up when a server of the store may evict keys.
	 */
	public enum OnEvictionPolicy {

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
	 * What happens while the store is unavailable.
	 */
	public enum OnUnavailable {

		/**
		 * Consumption waits.
		 */
		WAIT,

		/**
		 * Records are processed without protection, and counted.
		 */
		PROCESS

	}

	/**
	 * What is done about the schema at start-up.
	 */
	public enum Schema {

		/**
		 * It is brought up to date.
		 */
		MIGRATE,

		/**
		 * It is checked.
		 */
		VALIDATE,

		/**
		 * Nothing.
		 */
		NONE

	}

}
