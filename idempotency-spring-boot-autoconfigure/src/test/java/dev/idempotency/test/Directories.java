package dev.idempotency.test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import org.springframework.util.FileSystemUtils;

/**
 * Directories for the data of servers, which would fill the disk in the end.
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
	 * Delete one at the end of the JVM.
	 * @param directory the directory
	 * @param stop ends who works with it
	 */
	static void deleteAtExit(Path directory, Runnable stop) {
		Runtime.getRuntime().addShutdownHook(new Thread(() -> {
			stop.run();
			delete(directory);
		}));
	}

	// A server that is being stopped may write on for a moment.
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
