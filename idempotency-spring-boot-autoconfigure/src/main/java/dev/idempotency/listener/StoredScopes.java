package dev.idempotency.listener;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.context.SmartLifecycle;

import dev.idempotency.listener.key.ListenerScope;
import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.store.IdempotencyStore;

/**
 * Warns about stored scopes of a consumer group that no listener of the application uses:
 * after a topic or a handler method was renamed, the keys of the old scope are unknown
 * under the new one. The store is asked once, on a thread of its own when all containers
 * have started, for the overview that an operator sees: it looks at
 * {@value IdempotencyRecords#WINDOW} records at most, those that expire last where the
 * store can tell, within the time-out of the store. A failure has no consequence.
 *
 * @since 0.1.0
 */
public final class StoredScopes implements SmartLifecycle {

	private static final Log logger = LogFactory.getLog(StoredScopes.class);

	private static final int MAX_NAMES = 10;

	private final List<ListenerScope> scopes = new CopyOnWriteArrayList<>();

	private volatile @Nullable IdempotencyStore store;

	private @Nullable Thread thread;

	private volatile boolean running;

	void add(ListenerScope scope, IdempotencyStore scopeStore) {
		this.scopes.add(scope);
		this.store = scopeStore;
	}

	@Override
	public synchronized void start() {
		this.running = true;
		IdempotencyStore asked = this.store;
		if (asked != null && (this.thread == null || !this.thread.isAlive())) {
			this.thread = new Thread(() -> compare(asked), "idempotency-stored-scopes");
			this.thread.setDaemon(true);
			this.thread.start();
		}
	}

	private void compare(IdempotencyStore asked) {
		try {
			asked.records().map(IdempotencyRecords::overview).ifPresent((overview) -> {
				Map<String, Set<String>> unused = new TreeMap<>();
				overview.scopes().forEach((scope) -> collect(scope.name(), unused));
				unused.forEach((group, names) -> warn(asked, group, names));
			});
		}
		catch (RuntimeException ex) {
			logger.debug("The stored scopes could not be looked up, so they are not compared with those in use", ex);
		}
	}

	private void collect(String name, Map<String, Set<String>> unused) {
		if (this.scopes.stream().noneMatch((scope) -> scope.includes(name))) {
			String group = ListenerScope.group(name);
			if (group != null && this.scopes.stream().anyMatch((scope) -> scope.isOfGroup(group))) {
				unused.computeIfAbsent(group, (key) -> new TreeSet<>()).add(name);
			}
		}
	}

	private static void warn(IdempotencyStore asked, String group, Set<String> names) {
		logger.warn("The store '" + asked.name() + "' has keys of the consumer group '" + group
				+ "' in scopes that no listener of this application uses: "
				+ names.stream().limit(MAX_NAMES).map((name) -> "'" + name + "'").toList()
				+ ((names.size() > MAX_NAMES) ? " and " + (names.size() - MAX_NAMES) + " more" : "")
				+ "; a record that was completed there takes effect again in another scope. If a topic or a "
				+ "@KafkaHandler method was renamed, set 'scope' of @Idempotent to the old scope; if the listener was "
				+ "removed or belongs to another application, nothing is to be done");
	}

	@Override
	public synchronized void stop() {
		this.running = false;
		if (this.thread != null) {
			this.thread.interrupt();
		}
	}

	@Override
	public boolean isRunning() {
		return this.running;
	}

}
