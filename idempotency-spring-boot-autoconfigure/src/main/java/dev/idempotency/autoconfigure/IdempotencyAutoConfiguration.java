package dev.idempotency.autoconfigure;

import java.util.List;

import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.datasource.DataSourceUtils;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.autoconfigure.IdempotencyProperties.OnUnavailable;
import dev.idempotency.jdbc.JdbcIdempotencyStore;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.CompletionCache;
import dev.idempotency.template.IdempotencyListener;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.OperationContext;
import dev.idempotency.template.StoreCircuit;
import dev.idempotency.template.TemplateSettings;

/**
 * {@link AutoConfiguration Auto-configuration} for the {@link IdempotencyTemplate}.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = IdempotencyJdbcAutoConfiguration.class)
@ConditionalOnIdempotency
@EnableConfigurationProperties(IdempotencyProperties.class)
public final class IdempotencyAutoConfiguration {

	@Bean
	@ConditionalOnBean(IdempotencyStore.class)
	@ConditionalOnMissingBean
	IdempotencyTemplate idempotencyTemplate(ListableBeanFactory beanFactory, ObjectProvider<IdempotencyStore> stores,
			ObjectProvider<StoreTransactions> transactions, IdempotencyProperties properties,
			ObjectProvider<StoreCircuit> circuit, ObjectProvider<CompletionCache> cache,
			ObjectProvider<IdempotencyListener> listeners, ObjectProvider<OperationContext> contexts) {
		IdempotencyStore store = stores.getIfUnique();
		if (store == null) {
			throw new IdempotencyConfigurationException(
					"There are several IdempotencyStore beans: "
							+ List.of(beanFactory.getBeanNamesForType(IdempotencyStore.class)) + ".",
					"Keep one of them, mark one as @Primary, or set 'idempotency.store.type'.");
		}
		StoreTransactions storeTransactions = transactions.getIfAvailable(() -> new StoreTransactions(null));
		return new IdempotencyTemplate(store,
				new TemplateSettings(storeTransactions.manager(),
						properties.store().onUnavailable() == OnUnavailable.PROCESS,
						circuit.getIfAvailable(() -> StoreCircuit.ALWAYS_CLOSED),
						cache.getIfAvailable(() -> CompletionCache.NONE), listeners.orderedStream().toList(),
						contexts.orderedStream().toList()));
	}

	@Bean
	@ConditionalOnBean(IdempotencyTemplate.class)
	TemplateLifecycle idempotencyTemplateLifecycle(IdempotencyTemplate template) {
		return new TemplateLifecycle(template);
	}

	/**
	 * The transaction manager of the store's own {@link javax.sql.DataSource}, for the
	 * JDBC store of this library and for one that the application declares.
	 */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass(DataSourceUtils.class)
	static class Transactions {

		@Bean
		StoreTransactions idempotencyStoreTransactions(ListableBeanFactory beanFactory,
				ObjectProvider<IdempotencyStore> stores, IdempotencyProperties properties) {
			return (stores.getIfUnique() instanceof JdbcIdempotencyStore store)
					? new StoreTransactions(JdbcTransactionManagers.findOrWarn(beanFactory, store.dataSource(),
							properties.jdbc().transactionManager()))
					: new StoreTransactions(null);
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

}
