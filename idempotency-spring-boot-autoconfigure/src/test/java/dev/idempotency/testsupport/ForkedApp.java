package dev.idempotency.testsupport;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

import org.assertj.core.api.Assertions;
import org.awaitility.Awaitility;

/**
 * An application in a separate process, which prints a line for each event.
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
		catch (IOException | UncheckedIOException ex) {
			// The process was killed while it was being read.
		}
	}

	/**
	 * Wait until the application has printed a line.
	 * @param line the line
	 */
	public void awaitLine(String line) {
		Awaitility.await().atMost(START).untilAsserted(() -> Assertions.assertThat(this.lines).contains(line));
	}

	public List<String> lines() {
		return this.lines;
	}

	public long pid() {
		return this.process.pid();
	}

	/**
	 * Send a line to the standard input of the application.
	 * @param line the line
	 */
	public void tell(String line) {
		try {
			this.process.outputWriter().append(line).append('\n').flush();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Freeze the whole process.
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

	/**
	 * Terminate the process without waiting for it.
	 */
	public void terminate() {
		// Process.destroy() would close its streams as well.
		Signals.terminate(this.process.pid());
	}

	/**
	 * Wait until the process has ended.
	 * @return its exit status
	 */
	public int awaitEnd() {
		Awaitility.await().atMost(START).until(() -> !this.process.isAlive());
		return this.process.exitValue();
	}

	@Override
	public void close() {
		kill();
	}

}
