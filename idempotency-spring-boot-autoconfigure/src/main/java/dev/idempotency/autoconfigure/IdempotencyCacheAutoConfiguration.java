package dev.idempotency.autoconfigure;

import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.util.ClassUtils;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.autoconfigure.IdempotencyProperties.Cache;
import dev.idempotency.caffeine.CaffeineCompletionCache;
import dev.idempotency.template.CompletionCache;

/**
 * {@link AutoConfiguration Auto-configuration} for the local cache of completed keys.
 *
 * @since 0.1.0
 */
@AutoConfiguration(before = IdempotencyAutoConfiguration.class)
@ConditionalOnIdempotency
@ConditionalOnBooleanProperty("idempotency.cache.enabled")
@EnableConfigurationProperties(IdempotencyProperties.class)
public final class IdempotencyCacheAutoConfiguration {

	// The application has enabled the cache, so a missing library is an error.
	@Bean
	@ConditionalOnMissingBean
	CompletionCache idempotencyCompletionCache(IdempotencyProperties properties, ConfigurableBeanFactory beanFactory) {
		Cache cache = properties.cache();
		if (!ClassUtils.isPresent("com.github.benmanes.caffeine.cache.Caffeine", beanFactory.getBeanClassLoader())) {
			throw new IdempotencyConfigurationException(
					"'idempotency.cache.enabled' is 'true', but Caffeine is not on the class path.",
					"Add 'com.github.ben-manes.caffeine:caffeine', or remove the property.");
		}
		if (cache.maximumSize().toBytes() <= 0 || cache.timeToLive().toMillis() <= 0) {
			throw new IdempotencyConfigurationException(
					"The local cache of completed keys has the maximum size " + cache.maximumSize()
							+ " and the time to live " + cache.timeToLive() + ".",
					"Set 'idempotency.cache.maximum-size' and 'idempotency.cache.time-to-live' to positive values.");
		}
		return new CaffeineCompletionCache(cache.maximumSize().toBytes(), cache.timeToLive());
	}

}
