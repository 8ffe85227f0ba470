package dev.idempotency.autoconfigure;

import java.util.Set;

import org.springframework.boot.actuate.endpoint.Show;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Properties of the endpoint.
 *
 * @param showValues When to show messages of errors and stored results.
 * @param roles Roles of those who are shown messages and results when authorized. When
 * empty, all authenticated users are.
 * @since 0.1.0
 */
@ConfigurationProperties("management.endpoint.idempotency")
public record IdempotencyEndpointProperties(@DefaultValue("never") Show showValues, @DefaultValue Set<String> roles) {

}
