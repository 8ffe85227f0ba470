package dev.idempotency.producer;

import java.nio.charset.StandardCharsets;

import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.springframework.util.Assert;

import dev.idempotency.IdempotentExecution;
import dev.idempotency.outbox.TimeOrderedUuid;

/**
 * Gives records their idempotency keys.
 *
 * @since 0.1.0
 */
public final class IdempotencyKeys {

	/**
	 * The header that a protected listener looks at first, if it is not told otherwise.
	 */
	public static final String HEADER = "Idempotency-Key";

	private IdempotencyKeys() {
	}

	/**
	 * Make a key for a message that has no better one. It is a name for this message and
	 * not for the business operation: whoever makes it again makes another one.
	 * @return a time-ordered UUID
	 * @see TimeOrderedUuid
	 */
	public static String newKey() {
		return TimeOrderedUuid.next().toString();
	}

	/**
	 * Give a record a key in the header {@value #HEADER} if it has none.
	 * @param record the record
	 * @param <K> the type of its key
	 * @param <V> the type of its value
	 * @return the same record
	 * @throws IllegalStateException if it has no key and has been sent
	 * @see #stamp(ProducerRecord, String)
	 */
	public static <K, V> ProducerRecord<K, V> stamp(ProducerRecord<K, V> record) {
		return stamp(record, HEADER);
	}

	/**
	 * Give a record a key if it has none: on the thread of a protected handler the
	 * {@link IdempotentExecution#nextKey() next key} of its execution, elsewhere, and in
	 * the handler of a batch, a {@link #newKey() new one}. A message that is sent again
	 * keeps its key if it is the same record or, as serializers may refuse the closed
	 * headers of a record that has been sent, a copy with its headers.
	 * @param record the record
	 * @param header the name of the header for the key
	 * @param <K> the type of the record's key
	 * @param <V> the type of the record's value
	 * @return the same record
	 * @throws IllegalStateException if it has no key and has been sent
	 */
	public static <K, V> ProducerRecord<K, V> stamp(ProducerRecord<K, V> record, String header) {
		Assert.notNull(record, "'record' must not be null");
		Assert.hasText(header, "'header' must not be blank");
		if (!has(record.headers(), header)) {
			add(record, header);
		}
		return record;
	}

	// A header without a value is no key for the receiver either.
	static boolean has(Headers headers, String name) {
		Header last = headers.lastHeader(name);
		return last != null && last.value() != null;
	}

	private static void add(ProducerRecord<?, ?> record, String header) {
		try {
			record.headers().remove(header);
		}
		catch (IllegalStateException ex) {
			throw new IllegalStateException("A record for topic '" + record.topic() + "' has no header '" + header
					+ "', and cannot get one because it has been sent before. Stamp a record before it is sent for "
					+ "the first time.", ex);
		}
		IdempotentExecution execution = IdempotentExecution.ifCurrent();
		String key = (execution != null) ? execution.nextKey() : newKey();
		record.headers().add(header, key.getBytes(StandardCharsets.UTF_8));
	}

}
