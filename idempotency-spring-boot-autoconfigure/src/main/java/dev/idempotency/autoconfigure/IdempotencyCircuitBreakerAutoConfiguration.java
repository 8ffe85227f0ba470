package dev.idempotency.autoconfigure;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.resilience4j.Resilience4jStoreCircuit;
import dev.idempotency.template.StoreCircuit;

/**
 * {@link AutoConfiguration Auto-configuration} for the circuit breaker around the store.
 *
 * @since 0.1.0
 */
@AutoConfiguration(before = IdempotencyAutoConfiguration.class)
@ConditionalOnClass(CircuitBreaker.class)
@ConditionalOnIdempotency
@ConditionalOnBooleanProperty(name = "idempotency.circuit-breaker.enabled", matchIfMissing = true)
@EnableConfigurationProperties(IdempotencyProperties.class)
public final class IdempotencyCircuitBreakerAutoConfiguration {

	// The circuit breaker itself is not a bean, so that it does not interfere with the
	// registry of the application.
	@Bean
	@ConditionalOnMissingBean(StoreCircuit.class)
	Resilience4jStoreCircuit idempotencyStoreCircuit(IdempotencyProperties properties) {
		return new Resilience4jStoreCircuit(
				CircuitBreaker.of("idempotency-store", config(properties.circuitBreaker())));
	}

	private static CircuitBreakerConfig config(IdempotencyProperties.CircuitBreaker settings) {
		try {
			return CircuitBreakerConfig.custom()
				.slidingWindowSize(settings.slidingWindowSize())
				.minimumNumberOfCalls(settings.minimumNumberOfCalls())
				.failureRateThreshold(settings.failureRateThreshold())
				.waitDurationInOpenState(settings.waitDurationInOpenState())
				.permittedNumberOfCallsInHalfOpenState(settings.permittedNumberOfCallsInHalfOpenState())
				.build();
		}
		catch (IllegalArgumentException ex) {
			throw new IdempotencyConfigurationException(
					"The circuit breaker of the idempotency store cannot be created: " + ex.getMessage() + ".",
					"Correct 'idempotency.circuit-breaker.*', or set 'idempotency.circuit-breaker.enabled' to 'false'.");
		}
	}

}
