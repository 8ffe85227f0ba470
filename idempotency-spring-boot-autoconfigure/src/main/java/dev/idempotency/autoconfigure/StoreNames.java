package dev.idempotency.autoconfigure;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.core.env.Environment;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * The stores that the properties define, for decisions before there are beans.
 *
 * @param names the names of the stores of {@code idempotency.stores}
 * @param types the types that properties name
 * @param automatic whether a store has no type, so that it is the only candidate
 */
record StoreNames(Set<String> names, Set<String> types, boolean automatic) {

	// The name of the store that listeners use unless they name another one.
	static final String DEFAULT = "default";

	private static final Pattern NAME = Pattern.compile("[A-Za-z][A-Za-z0-9-]{0,39}");

	static StoreNames of(Environment environment) {
		Binder binder = Binder.get(environment);
		Map<String, Object> stores = binder.bind("idempotency.stores", Bindable.mapOf(String.class, Object.class))
			.orElseGet(Map::of);
		stores.keySet().forEach(StoreNames::check);
		requireDistinct(stores.keySet());
		List<Optional<String>> types = new ArrayList<>();
		types.add(type(binder, "idempotency.store"));
		stores.keySet().forEach((name) -> types.add(type(binder, "idempotency.stores." + name)));
		return new StoreNames(stores.keySet(), types.stream().flatMap(Optional::stream).collect(Collectors.toSet()),
				types.stream().anyMatch(Optional::isEmpty));
	}

	private static Optional<String> type(Binder binder, String prefix) {
		return Optional.ofNullable(binder.bind(prefix + ".type", String.class).orElse(null));
	}

	boolean mayHave(String type, boolean candidate) {
		return (candidate && this.automatic)
				|| this.types.stream().anyMatch((named) -> StoreSelection.isSame(type, named));
	}

	// An environment variable has no hyphens, so it would define another store.
	private static void requireDistinct(Set<String> names) {
		Map<String, String> distinct = new HashMap<>();
		for (String name : names) {
			String other = distinct.put(name.replace("-", "").toLowerCase(Locale.ROOT), name);
			if (other != null) {
				throw new IdempotencyConfigurationException(
						"'idempotency.stores' contains the names '" + other + "' and '" + name
								+ "', which differ by hyphens or case only.",
						"Use one of them. If an environment variable sets a property of the store, choose a name in "
								+ "lower case without hyphens.");
			}
		}
	}

	private static void check(String name) {
		if (name.equals(DEFAULT) || !NAME.matcher(name).matches()) {
			throw new IdempotencyConfigurationException(
					"'idempotency.stores' contains the name '" + name + "'"
							+ (name.equals(DEFAULT) ? ", which stands for the store of 'idempotency.store.*'." : "."),
					"Choose a name of at most 40 letters, digits and hyphens that begins with a letter and is not '"
							+ DEFAULT + "'.");
		}
	}

}
