package dev.idempotency.autoconfigure;

import java.util.List;

import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.autoconfigure.IdempotencyProperties.OnUnavailable;
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
@Import(IdempotencyTransactionsConfiguration.class)
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
					"There are several idempotency stores: "
							+ List.of(beanFactory.getBeanNamesForType(IdempotencyStore.class)) + ".",
					"Keep one, make one @Primary, or choose one with 'idempotency.store.type'.");
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

}
