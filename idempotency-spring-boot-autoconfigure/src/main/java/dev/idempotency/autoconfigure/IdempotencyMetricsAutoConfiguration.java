package dev.idempotency.autoconfigure;

import io.micrometer.core.instrument.MeterRegistry;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

import dev.idempotency.micrometer.MicrometerIdempotencyListener;
import dev.idempotency.micrometer.MicrometerOutboxListener;
import dev.idempotency.outbox.OutboxStore;

/**
 * {@link AutoConfiguration Auto-configuration} for the meters of listeners and of the
 * outbox.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = { IdempotencyAutoConfiguration.class, IdempotencyOutboxAutoConfiguration.class },
		afterName = { "org.springframework.boot.micrometer.metrics.autoconfigure.MetricsAutoConfiguration",
				"org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration",
				"org.springframework.boot.micrometer.metrics.autoconfigure.export.simple.SimpleMetricsExportAutoConfiguration" })
@ConditionalOnClass(MeterRegistry.class)
@ConditionalOnIdempotency
@ConditionalOnBean(MeterRegistry.class)
public final class IdempotencyMetricsAutoConfiguration {

	@Bean
	@ConditionalOnMissingBean
	MicrometerIdempotencyListener micrometerIdempotencyListener(MeterRegistry registry) {
		return new MicrometerIdempotencyListener(registry);
	}

	@Bean
	@ConditionalOnBooleanProperty("idempotency.outbox.enabled")
	@ConditionalOnBean(OutboxStore.class)
	@ConditionalOnMissingBean
	MicrometerOutboxListener idempotencyOutboxMetrics(MeterRegistry registry, OutboxStore store) {
		return new MicrometerOutboxListener(registry, store.table());
	}

}
