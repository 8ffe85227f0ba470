package dev.idempotency.autoconfigure;

import java.sql.SQLException;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

import dev.idempotency.IdempotencyStoreUnavailableException;

/**
 * Reports a database that is unavailable at start-up with a description and an action.
 */
final class IdempotencyStoreUnavailableFailureAnalyzer
		extends AbstractFailureAnalyzer<IdempotencyStoreUnavailableException> {

	@Override
	protected @Nullable FailureAnalysis analyze(Throwable rootFailure, IdempotencyStoreUnavailableException cause) {
		if (!(cause.getCause() instanceof SQLException)) {
			return null;
		}
		return new FailureAnalysis(cause.getMessage(),
				"Start the database, or correct the URL, the user and the password of its DataSource "
						+ "('spring.datasource.*').",
				cause);
	}

}
