package dev.idempotency.autoconfigure;

import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;

/**
 * {@link AutoConfiguration Auto-configuration} for application events.
 *
 * @since 0.1.0
 */
@AutoConfiguration(before = IdempotencyAutoConfiguration.class)
@ConditionalOnIdempotency
public final class IdempotencyEventsAutoConfiguration {

	@Bean
	CompletionEvents idempotencyCompletionEvents(ApplicationEventPublisher publisher) {
		return new CompletionEvents(publisher);
	}

}
