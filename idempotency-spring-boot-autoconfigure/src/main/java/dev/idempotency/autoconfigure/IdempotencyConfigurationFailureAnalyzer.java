package dev.idempotency.autoconfigure;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * Reports configuration errors of the library with a description and an action.
 */
final class IdempotencyConfigurationFailureAnalyzer extends AbstractFailureAnalyzer<IdempotencyConfigurationException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, IdempotencyConfigurationException cause) {
		return new FailureAnalysis(cause.getMessage(), cause.action(), cause);
	}

}
