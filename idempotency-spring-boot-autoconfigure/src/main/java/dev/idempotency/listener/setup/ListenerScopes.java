/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.setup;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.support.TopicPartitionOffset;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.Mode;
import dev.idempotency.listener.delivery.ListenerSettings;
import dev.idempotency.listener.key.ListenerScope;
import dev.idempotency.listener.method.ListenerShape;
import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.template.IdempotencyTemplate;

/**
 * All protected listeners and their scopes. Listeners that share a scope by mistake are
 * refused or reported, because a record that one of them has processed is a duplicate for
 * the other:
 * <ul>
 * <li>Two {@code @KafkaHandler} methods of one class have the same name.</li>
 * <li>Two listeners read the same manually assigned partition in one group. Kafka
 * delivers a record of a subscription to one consumer of the group, but a record of an
 * assigned partition to each of its consumers.</li>
 * <li>Two methods have the same explicit scope.</li>
 * </ul>
 * After the start, stored scopes of a consumer group that no listener uses are reported:
 * if a topic or a handler method is renamed, the keys of the old scope do not protect the
 * new one. This check reads the store's overview for operators once, which covers at most
 * {@value IdempotencyRecords#WINDOW} records. A failure of the check is ignored.
 */
final class ListenerScopes extends BackgroundCheck {

	private static final Log logger = LogFactory.getLog(ListenerScopes.class);

	private static final int MAX_NAMES = 10;

	private final Map<IdempotencyTemplate, List<ListenerScope>> stores = new ConcurrentHashMap<>();

	private final List<Reader> readers = new ArrayList<>();

	private final Map<String, ListenerShape> owners = new ConcurrentHashMap<>();

	private final Set<Method> methods = ConcurrentHashMap.newKeySet();

	// By the id of the endpoint.
	private final Map<String, Map<Method, ListenerScope>> main = new ConcurrentHashMap<>();

	private final List<ListenerScope> named = new CopyOnWriteArrayList<>();

	private final Set<String> logged = ConcurrentHashMap.newKeySet();

	ListenerScopes() {
		super("idempotency-stored-scopes");
	}

	// Check the default scopes of a main endpoint whose container is about to
	// be registered.
	synchronized void check(List<Reader> added) {
		for (int i = 0; i < added.size(); i++) {
			Reader reader = added.get(i);
			if (added.subList(0, i).stream().anyMatch((sibling) -> sibling.scope.isSameDefault(reader.scope))) {
				throw ListenerShape.mistake(reader.scope.listener(), "has the same default scope " + reader.scope
						+ " as another @KafkaHandler method of that name: a key that one has processed would be "
						+ "a duplicate for the other",
						"Rename one of them, or put @Idempotent with a 'scope' on each.");
			}
		}
		this.readers.removeIf((other) -> other.registered.get() != other.container);
		added.forEach((reader) -> {
			this.readers.forEach((other) -> checkPartitions(reader, other));
			if (!reader.partitions().isEmpty() && reader.scope.explicitName() == null) {
				logger.warn("The partitions of the idempotent listener " + reader.scope.listener()
						+ " are assigned manually, and every instance of the application that assigns the same "
						+ "partitions has its scope " + reader.scope
						+ ". A record that one instance has processed is a "
						+ "duplicate for the others. Set 'scope' of @Idempotent to a different text for each instance, "
						+ "unless the instances are meant to share the scope");
			}
		});
		this.readers.addAll(added);
	}

	private static void checkPartitions(Reader reader, Reader other) {
		String shared = other.scope.isSameDefault(reader.scope) ? reader.shared(other) : null;
		if (shared != null) {
			throw new IdempotencyConfigurationException(
					"The idempotent listeners " + reader.scope.listener() + " and " + other.scope.listener()
							+ " both receive the records of " + shared
							+ ", which is assigned manually, and have the same default scope " + reader.scope
							+ ": a record that one has processed would never be processed by the other.",
					"Set 'scope' of @Idempotent to a different text on each, or let only one of them read the partition.");
		}
	}

	// Add the scope of a listener, and warn if another method has the same named scope.
	// Methods that share a default scope without a name subscribe to one topic in one
	// group, and Kafka delivers each record to one of them.
	void add(ListenerShape method, ListenerSettings listener) {
		ListenerScope scope = listener.operations().scope();
		this.stores.computeIfAbsent(listener.template(), (added) -> new CopyOnWriteArrayList<>()).add(scope);
		// The containers of retry topics are registered later with the same method.
		if (this.methods.add(method.method()) && listener.mode() == Mode.LEASED) {
			DurationSetting.warnIfShort(listener.lease(), listener.storeTimeout(), listener.name());
		}
		if (!scope.isNamed()) {
			return;
		}
		for (String name : scope.names()) {
			ListenerShape other = this.owners.putIfAbsent(name, method);
			if (other != null && !other.method().equals(method.method())) {
				logger.warn("The idempotent listeners " + listener.name() + " and " + other.name()
						+ " share the scope '" + name
						+ "': a key that one has processed is a duplicate for the other. Set a different 'scope' "
						+ "of @Idempotent on each, unless they perform the same operation");
			}
		}
	}

	boolean isProtected(Method method) {
		return this.methods.contains(method);
	}

	// The scopes of a main endpoint by its methods.
	Map<Method, ListenerScope> ofEndpoint(@Nullable String id) {
		return this.main.computeIfAbsent(String.valueOf(id), (added) -> new ConcurrentHashMap<>());
	}

	// Each group has its own offsets, and may leave out records that another one
	// processes.
	void separateOffsets(ListenerScope added) {
		String name = added.explicitName();
		if (name == null) {
			return;
		}
		for (ListenerScope other : this.named) {
			if (name.equals(other.explicitName()) && !other.isOfGroup(added)) {
				String reason = "its scope '" + name + "' is also that of a listener of another consumer group (%s)";
				added.requireKeys(reason.formatted(other.listener()));
				other.requireKeys(reason.formatted(added.listener()));
			}
		}
		this.named.add(added);
	}

	// Several beans of one class have the same listener.
	void log(MessageListenerContainer container, ListenerSettings settings) {
		String line = "Idempotent listener " + settings.name() + ": " + topics(container.getContainerProperties())
				+ ", scope " + settings.operations().scope() + ", mode " + settings.mode() + ", store '"
				+ settings.template().name() + "'"
				+ ((settings.mode() == Mode.LEASED) ? ", lease " + DurationSetting.text(settings.lease()) : "")
				+ (settings.operations().isKeyless() ? ", by offset, keys in headers are ignored"
						: ", retention " + DurationSetting.text(settings.retention()));
		if (this.logged.add(line)) {
			logger.info(line);
		}
	}

	static String topics(ContainerProperties container) {
		return (container.getTopicPattern() != null) ? "topics matching '" + container.getTopicPattern() + "'"
				: "topics " + new LinkedHashSet<>(ListenerScope.topics(container));
	}

	@Override
	@Nullable Runnable prepare() {
		return !this.stores.isEmpty() ? () -> this.stores.forEach(ListenerScopes::compare) : null;
	}

	private static void compare(IdempotencyTemplate template, List<ListenerScope> scopes) {
		try {
			template.store().records().map(IdempotencyRecords::overview).ifPresent((overview) -> {
				Map<String, Set<String>> unused = new TreeMap<>();
				overview.scopes().forEach((scope) -> collect(scope.name(), scopes, unused));
				unused.forEach((group, names) -> warnIfUnused(template, group, names));
			});
		}
		catch (RuntimeException ex) {
			logger.debug("The stored scopes could not be read and are not compared with the scopes in use", ex);
		}
	}

	private static void collect(String name, List<ListenerScope> scopes, Map<String, Set<String>> unused) {
		if (scopes.stream().noneMatch((scope) -> scope.includes(name))) {
			String group = ListenerScope.group(name);
			if (group != null && scopes.stream().anyMatch((scope) -> scope.isOfGroup(group))) {
				unused.computeIfAbsent(group, (key) -> new TreeSet<>()).add(name);
			}
		}
	}

	private static void warnIfUnused(IdempotencyTemplate template, String group, Set<String> names) {
		logger.warn("The store '" + template.name() + "' has keys of the consumer group '" + group
				+ "' in scopes that no listener of this application uses: "
				+ names.stream().limit(MAX_NAMES).map((name) -> "'" + name + "'").toList()
				+ ((names.size() > MAX_NAMES) ? " and " + (names.size() - MAX_NAMES) + " more" : "")
				+ ". A record that was completed in one of these scopes takes effect again in another scope. If a topic "
				+ "or a @KafkaHandler method was renamed, set 'scope' of @Idempotent to the old scope. If the listener "
				+ "was removed or belongs to another application, ignore this warning");
	}

	/**
	 * A listener of a main endpoint.
	 *
	 * @param scope its scope
	 * @param container its container
	 * @param registered looks up the registered container of the same id
	 */
	record Reader(ListenerScope scope, MessageListenerContainer container,
			Supplier<@Nullable MessageListenerContainer> registered) {

		private @Nullable String shared(Reader other) {
			return Stream
				.concat(partitions().stream().filter(other::receives),
						other.partitions().stream().filter(this::receives))
				.findFirst()
				.map((partition) -> "partition " + partition.partition() + " of the topic '" + partition.topic() + "'")
				.orElse(null);
		}

		private boolean receives(TopicPartition partition) {
			ContainerProperties properties = this.container.getContainerProperties();
			String[] topics = properties.getTopics();
			Pattern pattern = properties.getTopicPattern();
			return partitions().contains(partition) || (topics != null && List.of(topics).contains(partition.topic()))
					|| (pattern != null && pattern.matcher(partition.topic()).matches());
		}

		// The partitions that are assigned manually.
		private List<TopicPartition> partitions() {
			TopicPartitionOffset[] assigned = this.container.getContainerProperties().getTopicPartitions();
			return (assigned != null) ? Stream.of(assigned).map(TopicPartitionOffset::getTopicPartition).toList()
					: List.of();
		}

	}

}
