package dev.idempotency.autoconfigure;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;

import dev.idempotency.actuate.IdempotencyStoreHealthIndicator;
import dev.idempotency.template.IdempotencyTemplate;

/**
 * {@link AutoConfiguration Auto-configuration} for the health indicator of the store.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = IdempotencyAutoConfiguration.class)
@ConditionalOnClass({ HealthIndicator.class, ConditionalOnEnabledHealthIndicator.class })
@ConditionalOnIdempotency
@ConditionalOnBean(IdempotencyTemplate.class)
@ConditionalOnEnabledHealthIndicator("idempotency")
public final class IdempotencyHealthAutoConfiguration {

	@Bean
	@ConditionalOnMissingBean(name = "idempotencyHealthIndicator")
	IdempotencyStoreHealthIndicator idempotencyHealthIndicator(ObjectProvider<IdempotencyTemplate> template) {
		return new IdempotencyStoreHealthIndicator(() -> template.getObject().store());
	}

}
