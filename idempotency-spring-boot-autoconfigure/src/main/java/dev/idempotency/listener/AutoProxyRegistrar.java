package dev.idempotency.listener;

import org.springframework.aop.config.AopConfigUtils;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.context.EnvironmentAware;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotationMetadata;

/**
 * Makes sure that there is an auto-proxy creator: Boot registers none when
 * {@code spring.aop.auto} is {@code false} and nothing else needs one. Class proxies,
 * unless the application has chosen otherwise.
 *
 * @since 0.1.0
 */
public final class AutoProxyRegistrar implements ImportBeanDefinitionRegistrar, EnvironmentAware {

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
