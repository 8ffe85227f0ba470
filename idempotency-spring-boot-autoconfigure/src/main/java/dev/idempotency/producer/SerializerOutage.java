package dev.idempotency.producer;

import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.reflect.Method;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.net.http.HttpTimeoutException;
import java.nio.channels.ClosedChannelException;
import java.util.Set;

import javax.net.ssl.SSLException;

import org.apache.kafka.common.errors.RetriableException;
import org.jspecify.annotations.Nullable;
import org.springframework.util.ReflectionUtils;

/**
 * Tells a server that a serializer asks, such as a schema registry, and that is
 * unavailable, from a message that cannot be serialised.
 */
final class SerializerOutage {

	// Not every IOException: JSON libraries and the JDK have some for content, too.
	private static final Set<Class<? extends IOException>> NETWORK = Set.of(SocketException.class,
			UnknownHostException.class, InterruptedIOException.class, HttpTimeoutException.class, SSLException.class,
			EOFException.class, ClosedChannelException.class);

	// Of Confluent's client, which is no dependency.
	private static final String REST_ERROR = "io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException";

	private static final int TOO_MANY_REQUESTS = 429;

	private static final int SERVER_ERROR = 500;

	// Causes may form a ring.
	private static final int MAX_DEPTH = 50;

	private SerializerOutage() {
	}

	static boolean isBehind(Throwable failure) {
		Throwable cause = failure;
		for (int depth = 0; cause != null && depth < MAX_DEPTH; depth++, cause = cause.getCause()) {
			if (cause instanceof RetriableException || isNetwork(cause) || isServerError(cause)) {
				return true;
			}
		}
		return false;
	}

	private static boolean isNetwork(Throwable cause) {
		return cause.getClass() == IOException.class || NETWORK.stream().anyMatch((type) -> type.isInstance(cause));
	}

	private static boolean isServerError(Throwable cause) {
		if (!isRestError(cause.getClass())) {
			return false;
		}
		Method getter = ReflectionUtils.findMethod(cause.getClass(), "getStatus");
		return getter != null && ReflectionUtils.invokeMethod(getter, cause) instanceof Integer status
				&& (status >= SERVER_ERROR || status == TOO_MANY_REQUESTS);
	}

	private static boolean isRestError(@Nullable Class<?> type) {
		return type != null && (type.getName().equals(REST_ERROR) || isRestError(type.getSuperclass()));
	}

}
