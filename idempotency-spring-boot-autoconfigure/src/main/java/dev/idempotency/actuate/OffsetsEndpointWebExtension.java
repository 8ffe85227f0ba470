package dev.idempotency.actuate;

import java.security.Principal;

import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.annotation.RegisterReflectionForBinding;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.annotation.EndpointWebExtension;

import dev.idempotency.actuate.OffsetsEndpoint.MarkList;
import dev.idempotency.actuate.OffsetsEndpoint.MarkLowered;
import dev.idempotency.store.IdempotencyRecords.Change;

/**
 * {@link EndpointWebExtension @EndpointWebExtension} of the {@link OffsetsEndpoint} that
 * sets the HTTP status and knows the authenticated user.
 *
 * @since 0.1.0
 */
@EndpointWebExtension(endpoint = OffsetsEndpoint.class)
@RegisterReflectionForBinding({ MarkList.class, MarkLowered.class, WebResponses.Problem.class })
public final class OffsetsEndpointWebExtension {

	private final OffsetsEndpoint delegate;

	/**
	 * Create an extension.
	 * @param delegate the endpoint
	 */
	public OffsetsEndpointWebExtension(OffsetsEndpoint delegate) {
		this.delegate = delegate;
	}

	@ReadOperation
	public WebEndpointResponse<?> marks(@Nullable Integer limit) {
		return WebResponses.of(() -> this.delegate.marks(limit));
	}

	@WriteOperation
	public WebEndpointResponse<?> lower(String scope, String topic, int partition, long next, @Nullable String store,
			SecurityContext context) {
		Principal principal = context.getPrincipal();
		String requestedBy = (principal != null) ? principal.getName() : null;
		return WebResponses.of(() -> this.delegate.lower(scope, topic, partition, next, store, requestedBy),
				(body) -> (((MarkLowered) body).outcome() == Change.DONE) ? WebEndpointResponse.STATUS_OK
						: WebEndpointResponse.STATUS_NOT_FOUND);
	}

}
