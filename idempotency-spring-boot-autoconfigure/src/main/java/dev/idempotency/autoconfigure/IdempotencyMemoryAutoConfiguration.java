package dev.idempotency.autoconfigure;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

import dev.idempotency.autoconfigure.IdempotencyProperties.StoreType;
import dev.idempotency.memory.InMemoryIdempotencyStore;
import dev.idempotency.store.IdempotencyStore;

/**
 * {@link AutoConfiguration Auto-configuration} for the in-memory store, which is used
 * only when {@code idempotency.store.type} names it.
 *
 * @since 0.1.0
 */
@AutoConfiguration(before = IdempotencyAutoConfiguration.class)
@ConditionalOnIdempotency
@ConditionalOnStoreType(value = StoreType.IN_MEMORY, candidate = false)
@ConditionalOnMissingBean(IdempotencyStore.class)
public final class IdempotencyMemoryAutoConfiguration {

	private static final Log logger = LogFactory.getLog(IdempotencyMemoryAutoConfiguration.class);

	@Bean
	InMemoryIdempotencyStore inMemoryIdempotencyStore() {
		logger.warn("The idempotency store is in memory. Its records are lost when this process ends, and other "
				+ "instances do not see them. Use 'idempotency.store.type=in-memory' for tests only");
		return new InMemoryIdempotencyStore();
	}

}
