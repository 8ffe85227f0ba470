package dev.idempotency.actuate;

import java.util.function.Supplier;
import java.util.function.ToIntFunction;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;

import dev.idempotency.IdempotencyRecordUnreadableException;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationInProgressException;

/**
 * Converts the return value or the exception of an endpoint operation into a response
 * over HTTP.
 */
final class WebResponses {

	static final int CONFLICT = 409;

	private static final int NOT_IMPLEMENTED = 501;

	private WebResponses() {
	}

	static WebEndpointResponse<?> of(Supplier<? extends @Nullable Object> operation) {
		return of(operation, (body) -> WebEndpointResponse.STATUS_OK);
	}

	static WebEndpointResponse<?> of(Supplier<? extends @Nullable Object> operation, ToIntFunction<Object> status) {
		try {
			Object body = operation.get();
			return (body != null) ? new WebEndpointResponse<>(body, status.applyAsInt(body))
					: problem("No such record, view or action", WebEndpointResponse.STATUS_NOT_FOUND);
		}
		catch (IllegalArgumentException ex) {
			return problem(ex.getMessage(), WebEndpointResponse.STATUS_BAD_REQUEST);
		}
		catch (UnsupportedOperationException ex) {
			return problem(ex.getMessage(), NOT_IMPLEMENTED);
		}
		catch (OperationInProgressException | IdempotencyRecordUnreadableException ex) {
			return problem(ex.getMessage(), CONFLICT);
		}
		catch (IdempotencyStoreUnavailableException | IdempotencyStoreRefusedException ex) {
			return problem(ex.getMessage(), WebEndpointResponse.STATUS_SERVICE_UNAVAILABLE);
		}
	}

	static WebEndpointResponse<Problem> problem(@Nullable String sentence, int status) {
		return new WebEndpointResponse<>(new Problem(String.valueOf(sentence)), status);
	}

	/**
	 * The body of an error response.
	 *
	 * @param error the reason in a sentence
	 */
	record Problem(String error) {

	}

}
