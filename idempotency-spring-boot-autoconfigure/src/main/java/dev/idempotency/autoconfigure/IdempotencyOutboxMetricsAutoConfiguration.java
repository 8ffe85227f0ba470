package dev.idempotency.autoconfigure;

import io.micrometer.core.instrument.MeterRegistry;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

import dev.idempotency.micrometer.MicrometerOutboxListener;
import dev.idempotency.outbox.OutboxStore;

/**
 * {@link AutoConfiguration Auto-configuration} for meters of the outbox.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = { IdempotencyMetricsAutoConfiguration.class, IdempotencyOutboxAutoConfiguration.class })
@ConditionalOnClass(MeterRegistry.class)
@ConditionalOnIdempotency
@ConditionalOnBooleanProperty("idempotency.outbox.enabled")
@ConditionalOnBean({ MeterRegistry.class, OutboxStore.class })
public final class IdempotencyOutboxMetricsAutoConfiguration {

	@Bean
	@ConditionalOnMissingBean
	MicrometerOutboxListener idempotencyOutboxMetrics(MeterRegistry registry, OutboxStore store) {
		return new MicrometerOutboxListener(registry, store.table());
	}

}
