package dev.idempotency.autoconfigure;

import org.slf4j.MDC;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

import dev.idempotency.slf4j.MdcOperationContext;

/**
 * {@link AutoConfiguration Auto-configuration} for the key and the scope of an operation
 * in the logging context (MDC).
 *
 * @since 0.1.0
 */
@AutoConfiguration(before = IdempotencyAutoConfiguration.class)
@ConditionalOnClass(MDC.class)
@ConditionalOnIdempotency
@ConditionalOnBooleanProperty(name = "idempotency.mdc.enabled", matchIfMissing = true)
public final class IdempotencyLoggingAutoConfiguration {

	@Bean
	@ConditionalOnMissingBean
	MdcOperationContext idempotencyMdcOperationContext() {
		return new MdcOperationContext();
	}

}
