package dev.idempotency.autoconfigure;

import org.springframework.context.ApplicationEventPublisher;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Settlement;
import dev.idempotency.template.CompletionFailedEvent;
import dev.idempotency.template.CompletionSettledEvent;
import dev.idempotency.template.IdempotencyListener;

/**
 * Publishes that completions could not be recorded, and what came of them.
 */
final class CompletionEvents implements IdempotencyListener {

	private final ApplicationEventPublisher publisher;

	CompletionEvents(ApplicationEventPublisher publisher) {
		this.publisher = publisher;
	}

	@Override
	public void completionFailed(String listener, IdempotencyKey key) {
		this.publisher.publishEvent(new CompletionFailedEvent(listener, key));
	}

	@Override
	public void completionSettled(String listener, IdempotencyKey key, Settlement settlement) {
		this.publisher.publishEvent(new CompletionSettledEvent(listener, key, settlement));
	}

}
