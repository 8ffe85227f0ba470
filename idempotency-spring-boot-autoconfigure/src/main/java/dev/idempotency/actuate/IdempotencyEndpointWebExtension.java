package dev.idempotency.actuate;

import java.security.Principal;
import java.time.OffsetDateTime;
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
import dev.idempotency.actuate.IdempotencyEndpoint.Changed;
import dev.idempotency.actuate.IdempotencyEndpoint.Command;
import dev.idempotency.actuate.IdempotencyEndpoint.Evicted;
import dev.idempotency.actuate.IdempotencyEndpoint.OverviewDescriptor;
import dev.idempotency.actuate.IdempotencyEndpoint.RecordDescriptor;
import dev.idempotency.actuate.IdempotencyEndpoint.RecordList;
import dev.idempotency.store.IdempotencyRecords.Change;

/**
 * {@link EndpointWebExtension @EndpointWebExtension} of the {@link IdempotencyEndpoint}
 * that sets the HTTP status and knows the authenticated user.
 *
 * @since 0.1.0
 */
@EndpointWebExtension(endpoint = IdempotencyEndpoint.class)
@RegisterReflectionForBinding({ OverviewDescriptor.class, RecordList.class, RecordDescriptor.class, Changed.class,
		Evicted.class, WebResponses.Problem.class })
public final class IdempotencyEndpointWebExtension {

	private final IdempotencyEndpoint delegate;

	private final Show showValues;

	private final Set<String> roles;

	/**
	 * Create an extension.
	 * @param delegate the endpoint
	 * @param showValues when to show error messages and stored results
	 * @param roles the roles that may see them when authorized, empty for every
	 * authenticated user
	 */
	public IdempotencyEndpointWebExtension(IdempotencyEndpoint delegate, Show showValues, Set<String> roles) {
		this.delegate = delegate;
		this.showValues = showValues;
		this.roles = roles;
	}

	@ReadOperation
	public WebEndpointResponse<?> overview(@Nullable String store) {
		return WebResponses.of(() -> this.delegate.overview(store));
	}

	@ReadOperation
	public WebEndpointResponse<?> view(SecurityContext context, @Selector String view, @Nullable String scope,
			@Nullable String key, @Nullable Integer limit, @Nullable String after, @Nullable String store) {
		boolean values = this.showValues.isShown(context, this.roles);
		return WebResponses.of(() -> {
			try {
				return this.delegate.view(view, scope, key, limit, after, store, values);
			}
			catch (IdempotencyStoreUnavailableException | IdempotencyStoreRefusedException ex) {
				if (!view.equals("stuck")) {
					throw ex;
				}
				return this.delegate.stuckWithoutStore(store, ex.getMessage());
			}
		}, IdempotencyEndpointWebExtension::status);
	}

	@WriteOperation
	public WebEndpointResponse<?> change(@Selector String action, @Nullable String scope, @Nullable String key,
			@Nullable Boolean force, @Nullable String keyPrefix, @Nullable OffsetDateTime createdFrom,
			@Nullable OffsetDateTime createdBefore, @Nullable Boolean dryRun, @Nullable Integer limit,
			@Nullable String after, @Nullable String store, SecurityContext context) {
		Principal principal = context.getPrincipal();
		Command command = new Command(scope, key, force, keyPrefix, createdFrom, createdBefore, dryRun, limit, after,
				store, (principal != null) ? principal.getName() : null);
		return WebResponses.of(() -> this.delegate.change(action, command), IdempotencyEndpointWebExtension::status);
	}

	private static int status(Object body) {
		if (body instanceof RecordList list && list.error() != null) {
			return WebEndpointResponse.STATUS_SERVICE_UNAVAILABLE;
		}
		if (!(body instanceof Changed changed) || changed.outcome() == Change.DONE) {
			return WebEndpointResponse.STATUS_OK;
		}
		return (changed.outcome() == Change.ABSENT) ? WebEndpointResponse.STATUS_NOT_FOUND : WebResponses.CONFLICT;
	}

}
