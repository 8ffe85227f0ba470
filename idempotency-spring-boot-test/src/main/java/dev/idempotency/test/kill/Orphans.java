package dev.idempotency.test.kill;

import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Kills the child processes when this JVM ends.
 */
final class Orphans {

	private static final Set<Process> CHILDREN = ConcurrentHashMap.newKeySet();

	static {
		Runtime.getRuntime().addShutdownHook(new Thread(() -> CHILDREN.forEach(Process::destroyForcibly)));
	}

	private Orphans() {
	}

	static void prevent(Process child) {
		CHILDREN.add(child);
		child.onExit().thenRun(() -> CHILDREN.remove(child));
		if (Signals.areSupported()) {
			watch(child);
		}
	}

	// A JVM that is killed itself runs no shutdown hook, but its pipes are closed. The
	// watching shell ends with the child, so that it never kills another process.
	private static void watch(Process child) {
		try {
			Process watcher = new ProcessBuilder("sh", "-c", "trap '' INT TERM HUP; read -r line; kill -KILL \"$1\"",
					"sh", String.valueOf(child.pid()))
				.redirectOutput(Redirect.DISCARD)
				.redirectError(Redirect.DISCARD)
				.start();
			child.onExit().thenRun(watcher::destroyForcibly);
		}
		catch (IOException ex) {
			// A system without a shell: the shutdown hook remains.
		}
	}

}
