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

import dev.idempotency.actuate.OutboxEndpoint;
import dev.idempotency.actuate.OutboxEndpointWebExtension;
import dev.idempotency.outbox.OutboxNotifier;
import dev.idempotency.outbox.OutboxOperator;
import dev.idempotency.outbox.OutboxRelay;
import dev.idempotency.outbox.OutboxStore;
import dev.idempotency.template.IdempotencyListener;
import dev.idempotency.template.IdempotencyListeners;

/**
 * {@link AutoConfiguration Auto-configuration} for the endpoint of the outbox. Who sees
 * the messages of errors is set for both endpoints at once.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = IdempotencyOutboxAutoConfiguration.class)
@ConditionalOnClass(ConditionalOnAvailableEndpoint.class)
@ConditionalOnIdempotency
@ConditionalOnBooleanProperty("idempotency.outbox.enabled")
@ConditionalOnBean(OutboxStore.class)
@ConditionalOnAvailableEndpoint(OutboxEndpoint.class)
@EnableConfigurationProperties(IdempotencyEndpointProperties.class)
public final class IdempotencyOutboxEndpointAutoConfiguration {

	@Bean
	@ConditionalOnMissingBean
	OutboxEndpoint idempotencyOutboxEndpoint(OutboxStore store, ObjectProvider<OutboxRelay> relay,
			ObjectProvider<OutboxNotifier> notifier, ObjectProvider<IdempotencyListener> listeners,
			IdempotencyEndpointProperties properties) {
		OutboxOperator operator = new OutboxOperator(store, new OutboxWakeUp(relay, notifier),
				new IdempotencyListeners(listeners.orderedStream().toList()));
		return new OutboxEndpoint(operator, properties.showValues());
	}

	@Bean
	@ConditionalOnMissingBean
	@ConditionalOnBean(OutboxEndpoint.class)
	@ConditionalOnAvailableEndpoint(exposure = EndpointExposure.WEB)
	OutboxEndpointWebExtension idempotencyOutboxEndpointWebExtension(OutboxEndpoint endpoint,
			IdempotencyEndpointProperties properties) {
		return new OutboxEndpointWebExtension(endpoint, properties.showValues(), properties.roles());
	}

}
