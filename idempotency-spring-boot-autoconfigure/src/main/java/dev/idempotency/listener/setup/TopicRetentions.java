/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.setup;

import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.config.ConfigResource;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.kafka.core.KafkaAdmin;
import org.springframework.kafka.listener.ContainerProperties;

import dev.idempotency.listener.key.ListenerScope;

/**
 * Warns about topics that keep their records longer than a listener remembers their keys.
 * A failure of the check is ignored.
 */
final class TopicRetentions extends BackgroundCheck {

	private static final Log logger = LogFactory.getLog(TopicRetentions.class);

	private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(5);

	private static final Duration TIMEOUT = Duration.ofSeconds(10);

	private final ObjectProvider<KafkaAdmin> admins;

	private final Queue<Listener> added = new ConcurrentLinkedQueue<>();

	TopicRetentions(ObjectProvider<KafkaAdmin> admins) {
		super("idempotency-topic-retention");
		this.admins = admins;
	}

	void add(String listener, ContainerProperties container, Duration retention) {
		this.added.add(new Listener(listener, container, retention));
		if (isRunning()) {
			check();
		}
	}

	@Override
	@Nullable Runnable prepare() {
		KafkaAdmin admin = this.added.isEmpty() ? null : this.admins.getIfUnique();
		return (admin != null) ? () -> compare(admin) : null;
	}

	private void compare(KafkaAdmin kafkaAdmin) {
		Map<String, Object> properties = new HashMap<>(kafkaAdmin.getConfigurationProperties());
		properties.put("request.timeout.ms", (int) REQUEST_TIMEOUT.toMillis());
		properties.put("default.api.timeout.ms", (int) TIMEOUT.toMillis());
		// Without a broker, the client would log hundreds of lines each second.
		properties.putIfAbsent("metadata.recovery.strategy", "none");
		try {
			Admin client = Admin.create(properties);
			try {
				for (Listener listener = this.added.poll(); listener != null; listener = this.added.poll()) {
					compare(listener, client);
				}
			}
			finally {
				// Pending requests are not awaited.
				client.close(Duration.ZERO);
			}
		}
		catch (InterruptedException ex) {
			logger.debug("The application stops before the retention of its topics was read", ex);
		}
		catch (Exception ex) {
			logger.debug("The retention of topics could not be read and is not compared with that of keys", ex);
		}
	}

	private static void compare(Listener listener, Admin client)
			throws InterruptedException, ExecutionException, TimeoutException {
		List<ConfigResource> resources = topics(listener.container(), client).stream()
			.map((topic) -> new ConfigResource(ConfigResource.Type.TOPIC, topic))
			.toList();
		for (Map.Entry<ConfigResource, KafkaFuture<Config>> entry : client.describeConfigs(resources)
			.values()
			.entrySet()) {
			String topic = entry.getKey().name();
			try {
				warnIfLonger(listener, topic, await(entry.getValue()));
			}
			catch (ExecutionException ex) {
				logger.debug("The retention of the topic '" + topic + "' could not be read", ex);
			}
		}
	}

	private static Collection<String> topics(ContainerProperties container, Admin client)
			throws InterruptedException, ExecutionException, TimeoutException {
		Pattern pattern = container.getTopicPattern();
		return (pattern != null)
				? await(client.listTopics().names()).stream().filter(pattern.asMatchPredicate()).toList()
				: new LinkedHashSet<>(ListenerScope.topics(container));
	}

	private static <T> T await(KafkaFuture<T> future)
			throws InterruptedException, ExecutionException, TimeoutException {
		return future.get(TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
	}

	private static void warnIfLonger(Listener listener, String topic, Config config) {
		String millis = value(config, "retention.ms");
		// A compacted topic keeps the last record of each key for ever, on purpose.
		if (millis == null || "compact".equals(value(config, "cleanup.policy"))) {
			return;
		}
		Duration kept = Duration.ofMillis(Long.parseLong(millis));
		Duration retention = listener.retention();
		if (!kept.isNegative() && kept.compareTo(retention) <= 0) {
			return;
		}
		logger.warn("The idempotent listener " + listener.name() + " remembers keys for "
				+ DurationSetting.text(retention) + ", but the topic '" + topic + "' keeps records "
				+ (kept.isNegative() ? "for ever" : "for " + DurationSetting.text(kept))
				+ ". A record that is read again after its key has expired, because offsets were reset or a consumer was "
				+ "far behind, takes effect again. Set 'idempotency.retention', or 'retention' of @Idempotent, to "
				+ (kept.isNegative() ? "the longest time after which records may be read again"
						: DurationSetting.text(kept) + " or more")
				+ ", or 'retention.ms' of the topic to no more than " + retention.toMillis());
	}

	private static @Nullable String value(Config config, String name) {
		ConfigEntry entry = config.get(name);
		return (entry != null) ? entry.value() : null;
	}

	private record Listener(String name, ContainerProperties container, Duration retention) {

	}

}
