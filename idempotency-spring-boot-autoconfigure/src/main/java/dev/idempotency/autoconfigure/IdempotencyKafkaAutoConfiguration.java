package dev.idempotency.autoconfigure;

import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Role;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.core.KafkaAdmin;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.listener.AutoProxyRegistrar;
import dev.idempotency.listener.ContainerInstallations;
import dev.idempotency.listener.ContainerProtection;
import dev.idempotency.listener.FinalClassCheck;
import dev.idempotency.listener.IdempotentAdvisor;
import dev.idempotency.listener.ListenerDefaults;
import dev.idempotency.listener.ListenerRegistryPostProcessor;
import dev.idempotency.listener.ListenerSettingsFactory;
import dev.idempotency.listener.ListenerStartupCheck;
import dev.idempotency.listener.ManualAcknowledgments;
import dev.idempotency.listener.RollbackOnlyAdvisor;
import dev.idempotency.listener.StoredScopes;
import dev.idempotency.listener.TopicRetentions;
import dev.idempotency.listener.error.BlockedRecordHandling;
import dev.idempotency.template.IdempotencyListener;
import dev.idempotency.template.IdempotencyListeners;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.Serialization;

/**
 * {@link AutoConfiguration Auto-configuration} for idempotent Kafka listeners.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = { IdempotencyAutoConfiguration.class, IdempotencyJacksonAutoConfiguration.class },
		afterName = "org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration")
@ConditionalOnClass(KafkaListenerEndpointRegistry.class)
@ConditionalOnIdempotency
@Import(AutoProxyRegistrar.class)
public final class IdempotencyKafkaAutoConfiguration {

	@Bean
	@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
	static IdempotentAdvisor idempotentAdvisor() {
		return new IdempotentAdvisor();
	}

	@Bean
	@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
	static RollbackOnlyAdvisor idempotentRollbackOnlyAdvisor() {
		return new RollbackOnlyAdvisor();
	}

	@Bean
	@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
	static ListenerRegistryPostProcessor idempotentListenerRegistryPostProcessor(
			ObjectProvider<ContainerProtection> protection) {
		return new ListenerRegistryPostProcessor(protection);
	}

	@Bean
	@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
	static FinalClassCheck idempotentFinalClassCheck(BeanFactory beanFactory) {
		return new FinalClassCheck(beanFactory);
	}

	@Bean
	BlockedRecordHandling idempotentBlockedRecordHandling() {
		return new BlockedRecordHandling();
	}

	@Bean
	ContainerInstallations idempotentContainerInstallations(BlockedRecordHandling blockedRecords,
			ApplicationEventPublisher publisher) {
		return new ContainerInstallations(blockedRecords, publisher);
	}

	@Bean
	TopicRetentions idempotentTopicRetentions(ObjectProvider<KafkaAdmin> admins) {
		return new TopicRetentions(admins);
	}

	@Bean
	StoredScopes idempotentStoredScopes() {
		return new StoredScopes();
	}

	@Bean
	ManualAcknowledgments idempotentManualAcknowledgments() {
		return new ManualAcknowledgments();
	}

	// Lazy, because an application without idempotent listeners needs no store.
	@Bean
	@Lazy
	ContainerProtection idempotentContainerProtection(ObjectProvider<IdempotencyTemplate> templates,
			ObjectProvider<Serialization> serialization, IdempotencyProperties properties,
			ObjectProvider<IdempotencyListener> listeners, ConfigurableBeanFactory beanFactory,
			ObjectProvider<StoreTransactions> transactions, ContainerInstallations installations,
			TopicRetentions retentions, StoredScopes storedScopes, ManualAcknowledgments acknowledgments) {
		IdempotencyTemplate template = templates.getIfAvailable();
		if (template == null) {
			throw StoreCandidates.missing(properties.store().type());
		}
		if (properties.key().onMissing() == MissingKeyPolicy.DEFAULT) {
			throw new IdempotencyConfigurationException(
					"'idempotency.key.on-missing' is 'default', which is valid for listeners only.",
					"Set 'idempotency.key.on-missing' to 'record-coordinates', 'reject' or 'process'.");
		}
		ListenerDefaults defaults = new ListenerDefaults(properties.mode(), properties.lease(), properties.retention(),
				properties.store().timeout(), properties.key().headers(), properties.key().onMissing());
		return new ContainerProtection(
				new ListenerSettingsFactory(template, serialization.getIfUnique(), defaults,
						new IdempotencyListeners(listeners.orderedStream().toList()), beanFactory::resolveEmbeddedValue,
						new HandlerTransactions(beanFactory, transactions)),
				installations, retentions, storedScopes, acknowledgments);
	}

	@Bean
	ListenerStartupCheck idempotentListenerStartupCheck(IdempotentAdvisor advisor,
			ObjectProvider<KafkaListenerEndpointRegistry> registry, ObjectProvider<ContainerProtection> protection) {
		return new ListenerStartupCheck(advisor, registry, protection);
	}

}
