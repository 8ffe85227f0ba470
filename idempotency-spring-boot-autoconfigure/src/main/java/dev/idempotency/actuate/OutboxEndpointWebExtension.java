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

import dev.idempotency.actuate.Descriptors.Problem;
import dev.idempotency.actuate.OutboxDescriptors.MessagesChanged;
import dev.idempotency.actuate.OutboxDescriptors.OutboxOverview;
import dev.idempotency.actuate.OutboxDescriptors.SetAsideList;
import dev.idempotency.store.IdempotencyRecords.Change;

/**
 * The {@link OutboxEndpoint} over HTTP, with the status that suits the answer.
 *
 * @since 0.1.0
 */
@EndpointWebExtension(endpoint = OutboxEndpoint.class)
@RegisterReflectionForBinding({ OutboxOverview.class, SetAsideList.class, MessagesChanged.class, Problem.class })
public final class OutboxEndpointWebExtension {

	private final OutboxEndpoint delegate;

	private final Show showValues;

	private final Set<String> roles;

	/**
	 * Create an extension.
	 * @param delegate the endpoint
	 * @param showValues when messages of errors are shown
	 * @param roles to whom, if only to authorized users
	 */
	public OutboxEndpointWebExtension(OutboxEndpoint delegate, Show showValues, Set<String> roles) {
		this.delegate = delegate;
		this.showValues = showValues;
		this.roles = roles;
	}

	@ReadOperation
	public WebEndpointResponse<?> overview() {
		return Answers.of(this.delegate::overview);
	}

	@ReadOperation
	public WebEndpointResponse<?> view(SecurityContext context, @Selector String view, @Nullable Integer limit) {
		boolean values = this.showValues.isShown(context, this.roles);
		return Answers.of(() -> this.delegate.view(view, limit, values));
	}

	@WriteOperation
	public WebEndpointResponse<?> change(@Selector String action, @Nullable String id, @Nullable String topic,
			@Nullable Integer limit, SecurityContext context) {
		Principal principal = context.getPrincipal();
		String who = (principal != null) ? principal.getName() : null;
		return Answers.of(() -> this.delegate.change(action, id, topic, limit, who),
				(body) -> (((MessagesChanged) body).outcome() == Change.DONE) ? WebEndpointResponse.STATUS_OK
						: WebEndpointResponse.STATUS_NOT_FOUND);
	}

}
