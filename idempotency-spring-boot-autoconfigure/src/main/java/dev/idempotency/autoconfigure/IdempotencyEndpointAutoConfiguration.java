package dev.idempotency.autoconfigure;

import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.autoconfigure.endpoint.expose.EndpointExposure;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;

import dev.idempotency.actuate.IdempotencyEndpoint;
import dev.idempotency.actuate.IdempotencyEndpointWebExtension;
import dev.idempotency.template.IdempotencyTemplate;

/**
 * {@link AutoConfiguration Auto-configuration} for the endpoint.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = IdempotencyAutoConfiguration.class)
@ConditionalOnClass(ConditionalOnAvailableEndpoint.class)
@ConditionalOnIdempotency
@ConditionalOnBean(IdempotencyTemplate.class)
@ConditionalOnAvailableEndpoint(IdempotencyEndpoint.class)
@EnableConfigurationProperties(IdempotencyEndpointProperties.class)
public final class IdempotencyEndpointAutoConfiguration {

	@Bean
	@ConditionalOnMissingBean
	IdempotencyEndpoint idempotencyEndpoint(IdempotencyTemplate template, IdempotencyEndpointProperties properties) {
		return new IdempotencyEndpoint(template.operator(), properties.showValues());
	}

	@Bean
	@ConditionalOnMissingBean
	@ConditionalOnBean(IdempotencyEndpoint.class)
	@ConditionalOnAvailableEndpoint(exposure = EndpointExposure.WEB)
	IdempotencyEndpointWebExtension idempotencyEndpointWebExtension(IdempotencyEndpoint endpoint,
			IdempotencyTemplate template, IdempotencyEndpointProperties properties) {
		return new IdempotencyEndpointWebExtension(endpoint, template.operator(), properties.showValues(),
				properties.roles());
	}

}
