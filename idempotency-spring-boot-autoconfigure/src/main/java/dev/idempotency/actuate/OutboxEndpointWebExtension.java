package dev.idempotency.actuate;

import java.security.Principal;
import java.util.Set;

import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.annotation.RegisterReflectionForBinding;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.Show;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.annotation.EndpointWebExtension;

import dev.idempotency.actuate.OutboxEndpoint.DeadLetterList;
import dev.idempotency.actuate.OutboxEndpoint.MessagesChanged;
import dev.idempotency.actuate.OutboxEndpoint.OutboxOverview;
import dev.idempotency.store.IdempotencyRecords.Change;

/**
 * {@link EndpointWebExtension @EndpointWebExtension} of the {@link OutboxEndpoint} that
 * sets the HTTP status and knows the authenticated user.
 *
 * @since 0.1.0
 */
@EndpointWebExtension(endpoint = OutboxEndpoint.class)
@RegisterReflectionForBinding({ OutboxOverview.class, DeadLetterList.class, MessagesChanged.class,
		WebResponses.Problem.class })
public final class OutboxEndpointWebExtension {

	private final OutboxEndpoint delegate;

	private final Show showValues;

	private final Set<String> roles;

	/**
	 * Create an extension.
	 * @param delegate the endpoint
	 * @param showValues when to show error messages
	 * @param roles the roles that may see them when authorized, empty for every
	 * authenticated user
	 */
	public OutboxEndpointWebExtension(OutboxEndpoint delegate, Show showValues, Set<String> roles) {
		this.delegate = delegate;
		this.showValues = showValues;
		this.roles = roles;
	}

	@ReadOperation
	public WebEndpointResponse<?> overview() {
		return WebResponses.of(this.delegate::overview);
	}

	@ReadOperation
	public WebEndpointResponse<?> view(SecurityContext context, @Selector String view, @Nullable Integer limit) {
		boolean values = this.showValues.isShown(context, this.roles);
		return WebResponses.of(() -> this.delegate.view(view, limit, values));
	}

	@WriteOperation
	public WebEndpointResponse<?> change(@Selector String action, @Nullable String id, @Nullable String topic,
			@Nullable Integer limit, SecurityContext context) {
		Principal principal = context.getPrincipal();
		String requestedBy = (principal != null) ? principal.getName() : null;
		return WebResponses.of(() -> this.delegate.change(action, id, topic, limit, requestedBy),
				(body) -> (((MessagesChanged) body).outcome() == Change.DONE) ? WebEndpointResponse.STATUS_OK
						: WebEndpointResponse.STATUS_NOT_FOUND);
	}

}
