package dev.idempotency.autoconfigure;

import java.util.Set;

import org.springframework.boot.actuate.endpoint.Show;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Properties of the actuator endpoints.
 *
 * @param showValues When to show error messages and stored results.
 * @param roles Roles used to determine whether a user is authorized to see error messages
 * and stored results. When empty, all authenticated users are authorized.
 * @since 0.1.0
 */
@ConfigurationProperties("management.endpoint.idempotency")
public record IdempotencyEndpointProperties(@DefaultValue("never") Show showValues, @DefaultValue Set<String> roles) {

}
