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

import dev.idempotency.listener.key.ListenerScope;
import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.store.IdempotencyStore;

/**
 * Warns about stored scopes of a consumer group that no listener of the application uses:
 * if a topic or a handler method is renamed, the keys of the old scope do not protect the
 * new one. The check reads the store's overview for operators once, which covers at most
 * {@value IdempotencyRecords#WINDOW} records. A failure of the check is ignored.
 */
final class StoredScopes extends BackgroundCheck {

	private static final Log logger = LogFactory.getLog(StoredScopes.class);

	private static final int MAX_NAMES = 10;

	private final List<ListenerScope> scopes = new CopyOnWriteArrayList<>();

	private volatile @Nullable IdempotencyStore store;

	StoredScopes() {
		super("idempotency-stored-scopes");
	}

	void add(ListenerScope scope, IdempotencyStore scopeStore) {
		this.scopes.add(scope);
		this.store = scopeStore;
	}

	@Override
	@Nullable Runnable prepare() {
		IdempotencyStore used = this.store;
		return (used != null) ? () -> compare(used) : null;
	}

	private void compare(IdempotencyStore used) {
		try {
			used.records().map(IdempotencyRecords::overview).ifPresent((overview) -> {
				Map<String, Set<String>> unused = new TreeMap<>();
				overview.scopes().forEach((scope) -> collect(scope.name(), unused));
				unused.forEach((group, names) -> warn(used, group, names));
			});
		}
		catch (RuntimeException ex) {
			logger.debug("The stored scopes could not be read and are not compared with the scopes in use", ex);
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

	private static void warn(IdempotencyStore used, String group, Set<String> names) {
		logger.warn("The store '" + used.name() + "' has keys of the consumer group '" + group
				+ "' in scopes that no listener of this application uses: "
				+ names.stream().limit(MAX_NAMES).map((name) -> "'" + name + "'").toList()
				+ ((names.size() > MAX_NAMES) ? " and " + (names.size() - MAX_NAMES) + " more" : "")
				+ ". A record that was completed in one of these scopes takes effect again in another scope. If a topic "
				+ "or a @KafkaHandler method was renamed, set 'scope' of @Idempotent to the old scope. If the listener "
				+ "was removed or belongs to another application, ignore this warning");
	}

}
