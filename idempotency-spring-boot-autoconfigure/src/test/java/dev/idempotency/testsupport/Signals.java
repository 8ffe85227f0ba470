package dev.idempotency.testsupport;

import java.io.IOException;

/**
 * Freezes, resumes and terminates processes.
 */
public final class Signals {

	private Signals() {
	}

	public static void freeze(long pid) {
		send("-STOP", pid);
	}

	public static void resume(long pid) {
		send("-CONT", pid);
	}

	public static void terminate(long pid) {
		send("-TERM", pid);
	}

	private static void send(String signal, long pid) {
		try {
			int exit = new ProcessBuilder("kill", signal, String.valueOf(pid)).start().waitFor();
			if (exit != 0) {
				throw new IllegalStateException("Process " + pid + " did not take " + signal);
			}
		}
		catch (IOException ex) {
			throw new IllegalStateException(ex);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

}
