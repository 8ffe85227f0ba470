package dev.idempotency.autoconfigure;

import java.util.List;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import org.jspecify.annotations.Nullable;
import org.slf4j.MDC;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.util.ClassUtils;
import tools.jackson.databind.json.JsonMapper;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.autoconfigure.IdempotencyProperties.Cache;
import dev.idempotency.autoconfigure.IdempotencyProperties.OnUnavailable;
import dev.idempotency.caffeine.CaffeineCompletionCache;
import dev.idempotency.cleanup.CleanupJob;
import dev.idempotency.jackson.JacksonSerialization;
import dev.idempotency.jdbc.JdbcIdempotencyStore;
import dev.idempotency.resilience4j.Resilience4jStoreCircuit;
import dev.idempotency.slf4j.MdcOperationContext;
import dev.idempotency.store.ExpiredRecords;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.CompletionCache;
import dev.idempotency.template.IdempotencyListener;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.OperationContext;
import dev.idempotency.template.Serialization;
import dev.idempotency.template.StoreCircuit;

/**
 * {@link AutoConfiguration Auto-configuration} for the {@link IdempotencyTemplate}, for
 * the cache, the circuit breaker, the logging context and the serialization that it uses,
 * and for the job that deletes expired records.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = IdempotencyJdbcAutoConfiguration.class,
		afterName = "org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration")
@ConditionalOnIdempotency
@EnableConfigurationProperties(IdempotencyProperties.class)
public final class IdempotencyAutoConfiguration {

	@Bean
	@ConditionalOnBean(IdempotencyStore.class)
	@ConditionalOnMissingBean
	IdempotencyTemplate idempotencyTemplate(ListableBeanFactory beanFactory, ObjectProvider<IdempotencyStore> stores,
			ObjectProvider<StoreTransactionManager> transactions, IdempotencyProperties properties,
			ObjectProvider<StoreCircuit> circuit, ObjectProvider<CompletionCache> cache,
			ObjectProvider<IdempotencyListener> listeners, ObjectProvider<OperationContext> contexts) {
		IdempotencyStore store = stores.getIfUnique();
		if (store == null) {
			throw new IdempotencyConfigurationException(
					"There are several IdempotencyStore beans: "
							+ List.of(beanFactory.getBeanNamesForType(IdempotencyStore.class)) + ".",
					"Keep one of them, mark one as @Primary, or set 'idempotency.store.type'.");
		}
		StoreTransactionManager storeTransactions = transactions
			.getIfAvailable(() -> new StoreTransactionManager(null));
		return new IdempotencyTemplate(store,
				new Settings(storeTransactions.manager(), properties.store().onUnavailable() == OnUnavailable.PROCESS,
						circuit.getIfAvailable(() -> StoreCircuit.ALWAYS_CLOSED),
						cache.getIfAvailable(() -> CompletionCache.NONE), listeners.orderedStream().toList(),
						contexts.orderedStream().toList(), properties.result().maximumSize()));
	}

	@Bean
	@ConditionalOnBean(IdempotencyTemplate.class)
	TemplateLifecycle idempotencyTemplateLifecycle(IdempotencyTemplate template) {
		return new TemplateLifecycle(template);
	}

	// The application has enabled the cache, so a missing library is an error.
	@Bean
	@ConditionalOnBooleanProperty("idempotency.cache.enabled")
	@ConditionalOnMissingBean
	CompletionCache idempotencyCompletionCache(IdempotencyProperties properties, ConfigurableBeanFactory beanFactory) {
		Cache cache = properties.cache();
		if (!ClassUtils.isPresent("com.github.benmanes.caffeine.cache.Caffeine", beanFactory.getBeanClassLoader())) {
			throw new IdempotencyConfigurationException(
					"'idempotency.cache.enabled' is 'true', but Caffeine is not on the class path.",
					"Add 'com.github.ben-manes.caffeine:caffeine', or remove the property.");
		}
		if (cache.maximumSize().toBytes() <= 0 || cache.timeToLive().toMillis() <= 0) {
			throw new IdempotencyConfigurationException(
					"The local cache of completed keys has the maximum size " + cache.maximumSize()
							+ " and the time to live " + cache.timeToLive() + ".",
					"Set 'idempotency.cache.maximum-size' and 'idempotency.cache.time-to-live' to positive values.");
		}
		return new CaffeineCompletionCache(cache.maximumSize().toBytes(), cache.timeToLive());
	}

	@Bean
	@ConditionalOnBooleanProperty(name = "idempotency.cleanup.enabled", matchIfMissing = true)
	@ConditionalOnBean(ExpiredRecords.class)
	@ConditionalOnMissingBean
	CleanupJob idempotencyCleanupJob(ExpiredRecords records, IdempotencyProperties properties,
			ObjectProvider<IdempotencyListener> listeners) {
		return new CleanupJob(records, properties.cleanup().settings(),
				IdempotencyListener.all(listeners.orderedStream().toList()));
	}

	/**
	 * The circuit breaker around the store.
	 */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass(CircuitBreaker.class)
	@ConditionalOnBooleanProperty(name = "idempotency.circuit-breaker.enabled", matchIfMissing = true)
	static class Circuit {

		// The circuit breaker itself is not a bean, so that it does not interfere
		// with the registry of the application.
		@Bean
		@ConditionalOnMissingBean(StoreCircuit.class)
		Resilience4jStoreCircuit idempotencyStoreCircuit(IdempotencyProperties properties) {
			return new Resilience4jStoreCircuit(
					CircuitBreaker.of("idempotency-store", config(properties.circuitBreaker())));
		}

		private static CircuitBreakerConfig config(IdempotencyProperties.CircuitBreaker settings) {
			try {
				return CircuitBreakerConfig.custom()
					.slidingWindowSize(settings.slidingWindowSize())
					.minimumNumberOfCalls(settings.minimumNumberOfCalls())
					.failureRateThreshold(settings.failureRateThreshold())
					.waitDurationInOpenState(settings.waitDurationInOpenState())
					.permittedNumberOfCallsInHalfOpenState(settings.permittedNumberOfCallsInHalfOpenState())
					.build();
			}
			catch (IllegalArgumentException ex) {
				throw new IdempotencyConfigurationException(
						"The circuit breaker of the idempotency store cannot be created: " + ex.getMessage() + ".",
						"Correct 'idempotency.circuit-breaker.*', or set 'idempotency.circuit-breaker.enabled' to 'false'.");
			}
		}

	}

	/**
	 * The key and the scope of an operation in the logging context (MDC).
	 */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass(MDC.class)
	@ConditionalOnBooleanProperty(name = "idempotency.mdc.enabled", matchIfMissing = true)
	static class Logging {

		@Bean
		@ConditionalOnMissingBean
		MdcOperationContext idempotencyMdcOperationContext() {
			return new MdcOperationContext();
		}

	}

	/**
	 * Results and fingerprints in JSON.
	 */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass(JsonMapper.class)
	static class Json {

		@Bean
		@ConditionalOnMissingBean(Serialization.class)
		JacksonSerialization idempotencySerialization(ObjectProvider<JsonMapper> mapper) {
			return new JacksonSerialization(mapper.getIfUnique(() -> JsonMapper.builder().build()));
		}

	}

	/**
	 * The transaction manager of the store's own {@link javax.sql.DataSource}, for the
	 * JDBC store of this library and for one that the application declares.
	 */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass(DataSourceUtils.class)
	static class Transactions {

		@Bean
		StoreTransactionManager idempotencyStoreTransactions(ListableBeanFactory beanFactory,
				ObjectProvider<IdempotencyStore> stores, IdempotencyProperties properties) {
			return (stores.getIfUnique() instanceof JdbcIdempotencyStore store)
					? new StoreTransactionManager(JdbcTransactionManagers.findOrWarn(beanFactory, store.dataSource(),
							properties.jdbc().transactionManager()))
					: new StoreTransactionManager(null);
		}

	}

	/**
	 * Records pending completions when the application stops, after the listener
	 * containers have stopped and before the connections of the store close.
	 */
	static final class TemplateLifecycle implements SmartLifecycle {

		// Containers stop at Integer.MAX_VALUE - 100, a Redis connection factory at 0.
		private static final int PHASE = Integer.MAX_VALUE / 2;

		private final IdempotencyTemplate template;

		private volatile boolean running;

		TemplateLifecycle(IdempotencyTemplate template) {
			this.template = template;
		}

		@Override
		public void start() {
			this.running = true;
		}

		@Override
		public void stop() {
			this.running = false;
			this.template.settle();
		}

		@Override
		public boolean isRunning() {
			return this.running;
		}

		@Override
		public int getPhase() {
			return PHASE;
		}

	}

	/**
	 * The transaction manager of the store's database.
	 *
	 * @param manager the transaction manager, {@code null} if there is none
	 */
	record StoreTransactionManager(@Nullable PlatformTransactionManager manager) {

	}

}
