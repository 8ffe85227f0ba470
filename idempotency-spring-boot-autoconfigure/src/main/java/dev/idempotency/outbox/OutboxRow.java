package dev.idempotency.outbox;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;

import org.jspecify.annotations.Nullable;

import dev.idempotency.store.Fingerprint;

/**
 * A message as it is stored.
 *
 * @param id its identity
 * @param topic where it goes
 * @param key its message key
 * @param payload its payload
 * @param headers its headers, without those of the relay
 * @param idempotencyKey its idempotency key
 * @param aggregateType what it is about
 * @param aggregateId which one
 * @param type what kind of event it is
 * @since 0.1.0
 */
public record OutboxRow(UUID id, String topic, byte @Nullable [] key, byte @Nullable [] payload,
		List<OutboxHeader> headers, String idempotencyKey, String aggregateType, String aggregateId, String type) {

	/**
	 * The header with the identity of the message, which Debezium's outbox event router
	 * sends, too.
	 */
	public static final String ID_HEADER = "id";

	/**
	 * The header with the idempotency key.
	 */
	public static final String KEY_HEADER = "Idempotency-Key";

	/**
	 * The header with the fingerprint of the content, which a protected listener compares
	 * that declares no fingerprint of its own.
	 */
	public static final String FINGERPRINT_HEADER = "Idempotency-Fingerprint";

	/**
	 * The header with the time at which the message was sent, by the clock of the sender:
	 * ISO 8601 in UTC, with milliseconds at most.
	 */
	public static final String TIME_HEADER = "Event-Time";

	private static final int FINGERPRINT_BYTES = 16;

	/**
	 * A fingerprint of type, key and payload.
	 * @return the header {@value #FINGERPRINT_HEADER}
	 */
	OutboxHeader fingerprint() {
		return new OutboxHeader(FINGERPRINT_HEADER, Fingerprint.text(content(), FINGERPRINT_BYTES));
	}

	OutboxRow withHeaders(List<OutboxHeader> added) {
		List<OutboxHeader> extended = new ArrayList<>(this.headers);
		extended.addAll(added);
		return new OutboxRow(this.id, this.topic, this.key, this.payload, extended, this.idempotencyKey,
				this.aggregateType, this.aggregateId, this.type);
	}

	// The lengths keep what is next to each other apart, and nothing from empty.
	private byte[] content() {
		byte[] name = this.type.getBytes(StandardCharsets.UTF_8);
		int keyLength = (this.key != null) ? this.key.length : 0;
		int payloadLength = (this.payload != null) ? this.payload.length : 0;
		ByteBuffer content = ByteBuffer.allocate(2 * Integer.BYTES + 1 + name.length + keyLength + payloadLength);
		content.putInt(name.length).put(name);
		content.putInt((this.key != null) ? keyLength : -1).put((this.key != null) ? this.key : new byte[0]);
		content.put((byte) ((this.payload != null) ? 1 : 0));
		if (this.payload != null) {
			content.put(this.payload);
		}
		return content.array();
	}

	/**
	 * Which of a number of lanes the message is in. All messages with the same topic and
	 * key are in the same one; one without a key may be in any.
	 * @param lanes the number of lanes
	 * @return the lane, from 0
	 */
	public int lane(int lanes) {
		int hash = (this.key != null) ? 31 * this.topic.hashCode() + Arrays.hashCode(this.key) : this.id.hashCode();
		// The lowest bits of such a sum depend on the last bytes only.
		return Math.floorMod(hash ^ (hash >>> 16), lanes);
	}

	/**
	 * What the order of messages is kept for.
	 * @return equal for messages that have an order
	 */
	Object orderedWith() {
		return (this.key != null) ? new Ordered(this.topic, ByteBuffer.wrap(this.key)) : this.id;
	}

	@Override
	public String toString() {
		return "message " + this.id + " to " + this.topic;
	}

	/**
	 * Messages with an order.
	 *
	 * @param topic their topic
	 * @param key their key
	 */
	private record Ordered(String topic, ByteBuffer key) {

	}

}
