package dev.idempotency.test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;

/**
 * Free ports.
 */
final class Ports {

	// Nodes of a Redis cluster talk to each other on the port that is so much higher.
	private static final int BUS = 10_000;

	private static final int LAST = 65_535;

	private Ports() {
	}

	static int free() {
		try (ServerSocket socket = new ServerSocket(0)) {
			return socket.getLocalPort();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	static int freeWithBus() {
		int port = free();
		while (port + BUS > LAST || !isFree(port + BUS)) {
			port = free();
		}
		return port;
	}

	private static boolean isFree(int port) {
		try (ServerSocket socket = new ServerSocket(port)) {
			return socket.isBound();
		}
		catch (IOException ex) {
			return false;
		}
	}

}
