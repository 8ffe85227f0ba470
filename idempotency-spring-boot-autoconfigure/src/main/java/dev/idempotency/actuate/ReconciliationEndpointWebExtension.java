package dev.idempotency.actuate;

import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.Set;

import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.annotation.RegisterReflectionForBinding;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.annotation.EndpointWebExtension;

import dev.idempotency.actuate.ReconciliationEndpoint.CancelDescriptor;
import dev.idempotency.actuate.ReconciliationEndpoint.FindingDescriptor;
import dev.idempotency.actuate.ReconciliationEndpoint.ListenerDescriptor;
import dev.idempotency.actuate.ReconciliationEndpoint.ReconciliationDescriptor;
import dev.idempotency.actuate.ReconciliationEndpoint.RunDescriptor;
import dev.idempotency.reconcile.ReconciliationStatus;

/**
 * {@link EndpointWebExtension @EndpointWebExtension} of the
 * {@link ReconciliationEndpoint} that sets the HTTP status.
 *
 * @since 0.1.0
 */
@EndpointWebExtension(endpoint = ReconciliationEndpoint.class)
@RegisterReflectionForBinding({ ReconciliationDescriptor.class, ListenerDescriptor.class, RunDescriptor.class,
		FindingDescriptor.class, CancelDescriptor.class, WebResponses.Problem.class })
public final class ReconciliationEndpointWebExtension {

	private static final int ACCEPTED = 202;

	private final ReconciliationEndpoint delegate;

	/**
	 * Create an extension.
	 * @param delegate the endpoint
	 */
	public ReconciliationEndpointWebExtension(ReconciliationEndpoint delegate) {
		this.delegate = delegate;
	}

	@ReadOperation
	public WebEndpointResponse<?> overview(@Nullable Integer limit) {
		return WebResponses.of(() -> this.delegate.overview(limit));
	}

	@WriteOperation
	public WebEndpointResponse<?> start(String listener, @Nullable String topic, @Nullable Integer partition,
			@Nullable OffsetDateTime from, @Nullable Long fromOffset, @Nullable OffsetDateTime to, @Nullable Long limit,
			@Nullable Duration timeout, @Nullable Duration stuckAfter, @Nullable Boolean examine,
			@Nullable Set<ReconciliationStatus> list) {
		try {
			return WebResponses.of(() -> this.delegate.start(listener, topic, partition, from, fromOffset, to, limit,
					timeout, stuckAfter, examine, list), (run) -> ACCEPTED);
		}
		catch (IllegalStateException ex) {
			return WebResponses.problem(ex.getMessage(), WebResponses.CONFLICT);
		}
	}

}
