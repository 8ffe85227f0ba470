package dev.idempotency.autoconfigure;

import io.micrometer.observation.ObservationRegistry;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

import dev.idempotency.micrometer.ObservationTags;
import dev.idempotency.micrometer.OutboxTrace;

/**
 * {@link AutoConfiguration Auto-configuration} for the tags of observations and for the
 * tracing of outbox messages.
 *
 * @since 0.1.0
 */
@AutoConfiguration(before = IdempotencyAutoConfiguration.class,
		afterName = "org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration")
@ConditionalOnClass(ObservationRegistry.class)
@ConditionalOnIdempotency
@ConditionalOnBean(ObservationRegistry.class)
public final class IdempotencyObservationAutoConfiguration {

	@Bean
	@ConditionalOnMissingBean
	ObservationTags idempotencyObservationTags(ObservationRegistry registry) {
		return new ObservationTags(registry);
	}

	@Bean
	@ConditionalOnMissingBean
	@ConditionalOnBooleanProperty("idempotency.outbox.enabled")
	OutboxTrace idempotencyOutboxTrace(ObservationRegistry registry) {
		return new OutboxTrace(registry);
	}

}
