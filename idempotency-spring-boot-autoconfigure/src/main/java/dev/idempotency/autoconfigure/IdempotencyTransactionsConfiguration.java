package dev.idempotency.autoconfigure;

import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.datasource.DataSourceUtils;

import dev.idempotency.jdbc.JdbcIdempotencyStore;
import dev.idempotency.store.IdempotencyStore;

/**
 * The transactions of the store, of this library or of the application, which are those
 * of its own {@link javax.sql.DataSource}.
 */
@Configuration(proxyBeanMethods = false)
@ConditionalOnClass(DataSourceUtils.class)
class IdempotencyTransactionsConfiguration {

	@Bean
	StoreTransactions idempotencyStoreTransactions(ListableBeanFactory beanFactory,
			ObjectProvider<IdempotencyStore> stores, IdempotencyProperties properties) {
		return (stores.getIfUnique() instanceof JdbcIdempotencyStore store)
				? new StoreTransactions(JdbcTransactionManagers.findOrWarn(beanFactory, store.dataSource(),
						properties.jdbc().transactionManager()))
				: new StoreTransactions(null);
	}

}
