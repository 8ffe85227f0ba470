package dev.idempotency.listener;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.Mode;
import dev.idempotency.template.IdempotencyListener;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.ResultCodec;
import dev.idempotency.template.Serialization;
import dev.idempotency.template.TransactionBoundary;

/**
 * What the annotation, the properties and the method say, read once.
 *
 * @param name the name of the listener for meters
 * @param parameters the parameters of the method
 * @param mode the mode, not {@link Mode#AUTO}
 * @param boundary the transaction that what the method does belongs to
 * @param lease how long a claim lives
 * @param retention how long a completed key is remembered
 * @param keys where the key comes from
 * @param onMissingKey what happens without a key
 * @param fingerprint the content that the key stands for, if declared
 * @param condition which records are protected, if declared
 * @param codec how the result is kept
 * @param serialization how the content of the fingerprint is written
 * @param template the protocol
 * @param listener who is told
 */
record ListenerSettings(String name, ListenerParameters parameters, Mode mode, TransactionBoundary boundary,
		Duration lease, Duration retention, KeyResolver keys, MissingKeyPolicy onMissingKey,
		@Nullable RecordExpression fingerprint, @Nullable RecordExpression condition, ResultCodec<Object> codec,
		Serialization serialization, IdempotencyTemplate template, IdempotencyListener listener) {

	/**
	 * Of methods that return nothing.
	 */
	static final ResultCodec<Object> NO_RESULT = ResultCodec.none();

}
