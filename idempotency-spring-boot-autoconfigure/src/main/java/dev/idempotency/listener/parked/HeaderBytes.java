package dev.idempotency.listener.parked;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.jspecify.annotations.Nullable;

/**
 * The headers of a record as bytes. Keeps their order, names that occur several times,
 * and values that are null.
 */
final class HeaderBytes {

	private static final int NULL = -1;

	private HeaderBytes() {
	}

	static byte[] of(Headers headers) {
		ByteArrayOutputStream bytes = new ByteArrayOutputStream();
		try (DataOutputStream out = new DataOutputStream(bytes)) {
			for (Header header : headers) {
				write(out, header.key().getBytes(StandardCharsets.UTF_8));
				write(out, header.value());
			}
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		return bytes.toByteArray();
	}

	private static void write(DataOutputStream out, byte @Nullable [] value) throws IOException {
		out.writeInt((value != null) ? value.length : NULL);
		if (value != null) {
			out.write(value);
		}
	}

	static Headers read(byte[] bytes) {
		Headers headers = new RecordHeaders();
		try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
			while (in.available() > 0) {
				byte[] name = in.readNBytes(in.readInt());
				int length = in.readInt();
				headers.add(new String(name, StandardCharsets.UTF_8), (length != NULL) ? in.readNBytes(length) : null);
			}
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		return headers;
	}

}
