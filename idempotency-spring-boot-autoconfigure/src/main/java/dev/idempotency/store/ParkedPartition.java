package dev.idempotency.store;

import java.util.UUID;

import org.springframework.util.Assert;

import dev.idempotency.IdempotencyKey;

/**
 * A partition whose records are parked for the listeners of a scope.
 *
 * @param scope the scope of the listeners
 * @param topic the topic
 * @param partition the partition
 * @since 0.1.0
 */
public record ParkedPartition(String scope, String topic, int partition) {

	public ParkedPartition {
		Assert.isTrue(IdempotencyKey.problem(scope) == null, "'scope' must be a usable scope");
		Assert.hasText(topic, "'topic' must not be empty");
		Assert.isTrue(partition >= 0, "'partition' must not be negative");
	}

	/**
	 * Return a primary key of fixed size.
	 * @return the identifier
	 */
	public UUID id() {
		return IdempotencyKey.of(this.scope, this.topic + "-" + this.partition).id();
	}

}
