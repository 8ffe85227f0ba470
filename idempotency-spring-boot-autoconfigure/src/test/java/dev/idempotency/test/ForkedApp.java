package dev.idempotency.test;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

import org.assertj.core.api.Assertions;
import org.awaitility.Awaitility;

/**
 * An application in a process of its own, which tells what happens line by line.
 */
public final class ForkedApp implements AutoCloseable {

	private static final Duration START = Duration.ofSeconds(90);

	private final Process process;

	private final List<String> lines = new CopyOnWriteArrayList<>();

	ForkedApp(Process process) {
		this.process = process;
		Thread reader = new Thread(this::read);
		reader.setDaemon(true);
		reader.start();
	}

	private void read() {
		try (BufferedReader output = this.process.inputReader()) {
			output.lines().forEach(this.lines::add);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Wait until the application has told something.
	 * @param line the line
	 */
	public void awaitLine(String line) {
		Awaitility.await().atMost(START).untilAsserted(() -> Assertions.assertThat(this.lines).contains(line));
	}

	public List<String> lines() {
		return this.lines;
	}

	/**
	 * Stop the whole process in its tracks.
	 */
	public void freeze() {
		Signals.freeze(this.process.pid());
	}

	public void resume() {
		Signals.resume(this.process.pid());
	}

	public void kill() {
		this.process.destroyForcibly();
		Awaitility.await().until(() -> !this.process.isAlive());
	}

	@Override
	public void close() {
		kill();
	}

}
