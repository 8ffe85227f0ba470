package dev.idempotency.autoconfigure;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

import dev.idempotency.cleanup.CleanupJob;
import dev.idempotency.store.ExpiredRecords;
import dev.idempotency.template.IdempotencyListener;
import dev.idempotency.template.IdempotencyListeners;

/**
 * {@link AutoConfiguration Auto-configuration} for the job that deletes expired records
 * periodically.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = IdempotencyAutoConfiguration.class)
@ConditionalOnIdempotency
@ConditionalOnBooleanProperty(name = "idempotency.cleanup.enabled", matchIfMissing = true)
@ConditionalOnBean(ExpiredRecords.class)
public final class IdempotencyCleanupAutoConfiguration {

	@Bean
	@ConditionalOnMissingBean
	CleanupJob idempotencyCleanupJob(ExpiredRecords records, IdempotencyProperties properties,
			ObjectProvider<IdempotencyListener> listeners) {
		return new CleanupJob(records, properties.cleanup().settings(),
				new IdempotencyListeners(listeners.orderedStream().toList()));
	}

}
