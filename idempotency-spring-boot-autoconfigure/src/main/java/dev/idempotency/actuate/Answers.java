package dev.idempotency.actuate;

import java.util.function.Supplier;
import java.util.function.ToIntFunction;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;

import dev.idempotency.IdempotencyRecordUnreadableException;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.actuate.Descriptors.Problem;

/**
 * Turns what an endpoint returns or throws into an answer over HTTP.
 */
final class Answers {

	static final int CONFLICT = 409;

	private static final int NOT_IMPLEMENTED = 501;

	private Answers() {
	}

	static WebEndpointResponse<?> of(Supplier<? extends @Nullable Object> answer) {
		return of(answer, (body) -> WebEndpointResponse.STATUS_OK);
	}

	static WebEndpointResponse<?> of(Supplier<? extends @Nullable Object> answer, ToIntFunction<Object> status) {
		try {
			Object body = answer.get();
			return (body != null) ? new WebEndpointResponse<>(body, status.applyAsInt(body))
					: problem("Nothing is known about that", WebEndpointResponse.STATUS_NOT_FOUND);
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

	private static WebEndpointResponse<Problem> problem(@Nullable String sentence, int status) {
		return new WebEndpointResponse<>(new Problem(String.valueOf(sentence)), status);
	}

}
