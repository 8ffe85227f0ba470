package dev.idempotency.autoconfigure;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.autoconfigure.endpoint.expose.EndpointExposure;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;

import dev.idempotency.actuate.IdempotencyEndpoint;
import dev.idempotency.actuate.IdempotencyEndpointWebExtension;
import dev.idempotency.actuate.OutboxEndpoint;
import dev.idempotency.actuate.OutboxEndpointWebExtension;
import dev.idempotency.outbox.OutboxAdmin;
import dev.idempotency.outbox.OutboxNotifier;
import dev.idempotency.outbox.OutboxRelay;
import dev.idempotency.outbox.OutboxStore;
import dev.idempotency.template.IdempotencyListener;
import dev.idempotency.template.IdempotencyListeners;
import dev.idempotency.template.IdempotencyTemplate;

/**
 * {@link AutoConfiguration Auto-configuration} for the actuator endpoints of the store
 * and of the outbox. One group of properties controls which error messages both show.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = { IdempotencyAutoConfiguration.class, IdempotencyOutboxAutoConfiguration.class })
@ConditionalOnClass(ConditionalOnAvailableEndpoint.class)
@ConditionalOnIdempotency
@EnableConfigurationProperties(IdempotencyEndpointProperties.class)
public final class IdempotencyEndpointAutoConfiguration {

	@Bean
	@ConditionalOnAvailableEndpoint
	@ConditionalOnBean(IdempotencyTemplate.class)
	@ConditionalOnMissingBean
	IdempotencyEndpoint idempotencyEndpoint(IdempotencyTemplate template, IdempotencyEndpointProperties properties) {
		return new IdempotencyEndpoint(template.admin(), properties.showValues());
	}

	@Bean
	@ConditionalOnAvailableEndpoint(exposure = EndpointExposure.WEB)
	@ConditionalOnBean({ IdempotencyTemplate.class, IdempotencyEndpoint.class })
	@ConditionalOnMissingBean
	IdempotencyEndpointWebExtension idempotencyEndpointWebExtension(IdempotencyEndpoint endpoint,
			IdempotencyTemplate template, IdempotencyEndpointProperties properties) {
		return new IdempotencyEndpointWebExtension(endpoint, properties.showValues(), properties.roles());
	}

	@Bean
	@ConditionalOnBooleanProperty("idempotency.outbox.enabled")
	@ConditionalOnAvailableEndpoint
	@ConditionalOnBean(OutboxStore.class)
	@ConditionalOnMissingBean
	OutboxEndpoint idempotencyOutboxEndpoint(OutboxStore store, ObjectProvider<OutboxRelay> relay,
			ObjectProvider<OutboxNotifier> notifier, ObjectProvider<IdempotencyListener> listeners,
			IdempotencyEndpointProperties properties) {
		OutboxAdmin operator = new OutboxAdmin(store, new OutboxWakeUp(relay, notifier),
				new IdempotencyListeners(listeners.orderedStream().toList()));
		return new OutboxEndpoint(operator, properties.showValues());
	}

	@Bean
	@ConditionalOnBooleanProperty("idempotency.outbox.enabled")
	@ConditionalOnAvailableEndpoint(exposure = EndpointExposure.WEB)
	@ConditionalOnBean({ OutboxStore.class, OutboxEndpoint.class })
	@ConditionalOnMissingBean
	OutboxEndpointWebExtension idempotencyOutboxEndpointWebExtension(OutboxEndpoint endpoint,
			IdempotencyEndpointProperties properties) {
		return new OutboxEndpointWebExtension(endpoint, properties.showValues(), properties.roles());
	}

}
