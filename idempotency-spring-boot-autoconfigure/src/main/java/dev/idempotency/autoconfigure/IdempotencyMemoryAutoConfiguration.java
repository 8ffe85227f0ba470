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
 * {@link AutoConfiguration Auto-configuration} for the store in memory, which is used
 * only where it is asked for.
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
		logger.warn("Idempotency keys are kept in memory: they are forgotten at the end of this process and unknown to "
				+ "other instances. 'idempotency.store.type=in-memory' is for tests");
		return new InMemoryIdempotencyStore();
	}

}
