package dev.idempotency.listener.setup;

import org.springframework.aop.config.AopConfigUtils;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.EnvironmentAware;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Role;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotationMetadata;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.core.KafkaAdmin;

import dev.idempotency.listener.delivery.ManualAcknowledgments;
import dev.idempotency.listener.error.BlockedRecordHandling;
import dev.idempotency.listener.function.FunctionProtection;
import dev.idempotency.listener.method.IdempotentAdvisor;
import dev.idempotency.listener.method.RollbackOnlyAdvisor;
import dev.idempotency.listener.range.ListenerTopics;
import dev.idempotency.listener.range.TopicIds;
import dev.idempotency.reconcile.Reconciliation;

/**
 * Registers the beans that protect idempotent Kafka listeners. Requires a
 * {@link ListenerSettingsFactory} bean, which is created only if the application has an
 * idempotent listener.
 *
 * @since 0.1.0
 */
@Configuration(proxyBeanMethods = false)
@Import(IdempotentListenerConfiguration.AutoProxyRegistrar.class)
public final class IdempotentListenerConfiguration {

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
	TopicIds idempotentTopicIds() {
		return new TopicIds();
	}

	@Bean
	GroupMembers idempotentGroupMembers() {
		return new GroupMembers();
	}

	@Bean
	ListenerTopics idempotentListenerTopics() {
		return new ListenerTopics();
	}

	@Bean
	Reconciliation idempotencyReconciliation(ListenerTopics topics) {
		return new Reconciliation(topics::listeners);
	}

	@Bean
	ListenerScopes idempotentListenerScopes() {
		return new ListenerScopes();
	}

	@Bean
	ManualAcknowledgments idempotentManualAcknowledgments() {
		return new ManualAcknowledgments();
	}

	@Bean
	@Lazy
	ContainerProtection idempotentContainerProtection(ListenerSettingsFactory settings,
			ContainerInstallations installations, TopicRetentions retentions, ListenerScopes scopes,
			ManualAcknowledgments acknowledgments, TopicIds topicIds, ListenerTopics topics, GroupMembers members) {
		return new ContainerProtection(settings, installations, retentions, scopes, acknowledgments, topicIds, topics,
				members);
	}

	@Bean
	ListenerStartupCheck idempotentListenerStartupCheck(IdempotentAdvisor advisor,
			ObjectProvider<KafkaListenerEndpointRegistry> registry, ObjectProvider<ContainerProtection> protection,
			ObjectProvider<FunctionProtection> functions) {
		return new ListenerStartupCheck(advisor, registry, protection, functions);
	}

	/**
	 * Registers an auto-proxy creator, because Spring Boot registers none if
	 * {@code spring.aop.auto} is {@code false}. It creates class proxies unless the
	 * application has chosen otherwise.
	 */
	static final class AutoProxyRegistrar implements ImportBeanDefinitionRegistrar, EnvironmentAware {

		private boolean proxyTargetClass = true;

		@Override
		public void setEnvironment(Environment environment) {
			this.proxyTargetClass = environment.getProperty("spring.aop.proxy-target-class", Boolean.class, true);
		}

		@Override
		public void registerBeanDefinitions(AnnotationMetadata metadata, BeanDefinitionRegistry registry) {
			AopConfigUtils.registerAutoProxyCreatorIfNecessary(registry);
			if (this.proxyTargetClass) {
				AopConfigUtils.forceAutoProxyCreatorToUseClassProxying(registry);
			}
		}

	}

}
