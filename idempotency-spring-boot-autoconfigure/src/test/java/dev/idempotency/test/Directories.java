package dev.idempotency.test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import org.springframework.util.FileSystemUtils;

/**
 * Temporary directories for the data of servers, deleted at the end of the JVM.
 */
final class Directories {

	private static final int TRIES = 50;

	private Directories() {
	}

	static Path create(String prefix) {
		try {
			return Files.createTempDirectory(prefix);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Delete a directory at the end of the JVM.
	 * @param directory the directory
	 * @param stop stops the server that uses it
	 */
	static void deleteAtExit(Path directory, Runnable stop) {
		Runtime.getRuntime().addShutdownHook(new Thread(() -> {
			stop.run();
			delete(directory);
		}));
	}

	// A server that is being stopped may still write for a moment.
	private static void delete(Path directory) {
		for (int tries = 0; tries < TRIES; tries++) {
			try {
				FileSystemUtils.deleteRecursively(directory);
				return;
			}
			catch (IOException ex) {
				LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(100));
			}
		}
	}

}
