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

import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.actuate.Descriptors.Changed;
import dev.idempotency.actuate.Descriptors.Overview;
import dev.idempotency.actuate.Descriptors.Problem;
import dev.idempotency.actuate.Descriptors.RecordDescriptor;
import dev.idempotency.actuate.Descriptors.RecordList;
import dev.idempotency.store.IdempotencyRecords.Change;
import dev.idempotency.template.IdempotencyOperator;

/**
 * The {@link IdempotencyEndpoint} over HTTP, with the status that suits the answer.
 *
 * @since 0.1.0
 */
@EndpointWebExtension(endpoint = IdempotencyEndpoint.class)
@RegisterReflectionForBinding({ Overview.class, RecordList.class, RecordDescriptor.class, Changed.class,
		Problem.class })
public final class IdempotencyEndpointWebExtension {

	private final IdempotencyEndpoint delegate;

	private final IdempotencyOperator operator;

	private final Show showValues;

	private final Set<String> roles;

	/**
	 * Create an extension.
	 * @param delegate the endpoint
	 * @param operator what may be seen and done
	 * @param showValues when messages of errors and results are shown
	 * @param roles to whom, if only to authorized users
	 */
	public IdempotencyEndpointWebExtension(IdempotencyEndpoint delegate, IdempotencyOperator operator, Show showValues,
			Set<String> roles) {
		this.delegate = delegate;
		this.operator = operator;
		this.showValues = showValues;
		this.roles = roles;
	}

	@ReadOperation
	public WebEndpointResponse<?> overview() {
		return Answers.of(this.delegate::overview);
	}

	@ReadOperation
	public WebEndpointResponse<?> view(SecurityContext context, @Selector String view, @Nullable String scope,
			@Nullable String key, @Nullable Integer limit, @Nullable String after) {
		boolean values = this.showValues.isShown(context, this.roles);
		return Answers.of(() -> {
			try {
				return this.delegate.view(view, scope, key, limit, after, values);
			}
			catch (IdempotencyStoreUnavailableException | IdempotencyStoreRefusedException ex) {
				if (!view.equals("stuck")) {
					throw ex;
				}
				// What this instance has to make up for is known without the store.
				return RecordList.unavailable(this.operator, ex.getMessage());
			}
		}, IdempotencyEndpointWebExtension::status);
	}

	@WriteOperation
	public WebEndpointResponse<?> change(@Selector String action, @Nullable String scope, @Nullable String key,
			@Nullable Boolean force, SecurityContext context) {
		return Answers.of(() -> {
			if (scope == null) {
				throw new IllegalArgumentException("'scope' is needed");
			}
			Principal principal = context.getPrincipal();
			return this.delegate.change(action, scope, key, force, (principal != null) ? principal.getName() : null);
		}, IdempotencyEndpointWebExtension::status);
	}

	private static int status(Object body) {
		if (body instanceof RecordList list && list.error() != null) {
			return WebEndpointResponse.STATUS_SERVICE_UNAVAILABLE;
		}
		if (!(body instanceof Changed changed) || changed.outcome() == Change.DONE) {
			return WebEndpointResponse.STATUS_OK;
		}
		return (changed.outcome() == Change.ABSENT) ? WebEndpointResponse.STATUS_NOT_FOUND : Answers.CONFLICT;
	}

}
