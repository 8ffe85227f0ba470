package dev.idempotency.redis;

import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.UUID;
import java.util.regex.Pattern;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyKey;

/**
 * The names of the Redis keys of the store.
 *
 * @param prefix common prefix of the names
 */
record KeyNames(String prefix) {

	// A brace would make the prefix the hash tag, and put all keys on one cluster node.
	private static final Pattern PREFIX = Pattern.compile("[!-z|~]{1,200}");

	private static final HexFormat HEX = HexFormat.of();

	KeyNames {
		if (!PREFIX.matcher(prefix).matches()) {
			throw new IdempotencyConfigurationException("'idempotency.redis.key-prefix' is '" + prefix + "'.",
					"Set 'idempotency.redis.key-prefix' to 1 to 200 printable ASCII characters without spaces and "
							+ "braces.");
		}
	}

	String name(IdempotencyKey key) {
		UUID id = key.id();
		return this.prefix + '{' + HEX.toHexDigits(id.getMostSignificantBits())
				+ HEX.toHexDigits(id.getLeastSignificantBits()) + '}';
	}

	byte[] bytes(IdempotencyKey key) {
		return name(key).getBytes(StandardCharsets.US_ASCII);
	}

}
