package dev.idempotency.autoconfigure;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * Shows a mistake in the use of the library as a sentence with an action.
 */
final class IdempotencyConfigurationFailureAnalyzer extends AbstractFailureAnalyzer<IdempotencyConfigurationException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, IdempotencyConfigurationException cause) {
		return new FailureAnalysis(cause.getMessage(), cause.action(), cause);
	}

}
