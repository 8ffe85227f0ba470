package dev.idempotency.listener;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.config.ConfigResource;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.SmartLifecycle;
import org.springframework.kafka.core.KafkaAdmin;

/**
 * Compares for how long keys are remembered with how long topics keep their records, and
 * warns. On a thread of its own, when all containers have started: the start waits for no
 * broker, and a broker that does not answer, or does not say it, is none of our business.
 *
 * @since 0.1.0
 */
public final class TopicRetentions implements SmartLifecycle {

	private static final Log logger = LogFactory.getLog(TopicRetentions.class);

	private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(5);

	private static final Duration TIMEOUT = Duration.ofSeconds(10);

	private final ObjectProvider<KafkaAdmin> admins;

	private final Queue<RememberedKeys> added = new ConcurrentLinkedQueue<>();

	private @Nullable Thread thread;

	private volatile boolean running;

	public TopicRetentions(ObjectProvider<KafkaAdmin> admins) {
		this.admins = admins;
	}

	void add(RememberedKeys keys) {
		this.added.add(keys);
		if (this.running) {
			compareLater();
		}
	}

	@Override
	public void start() {
		this.running = true;
		compareLater();
	}

	private synchronized void compareLater() {
		KafkaAdmin admin = this.added.isEmpty() ? null : this.admins.getIfUnique();
		if (admin != null && (this.thread == null || !this.thread.isAlive())) {
			this.thread = new Thread(() -> compare(admin), "idempotency-topic-retention");
			this.thread.setDaemon(true);
			this.thread.start();
		}
	}

	private void compare(KafkaAdmin kafkaAdmin) {
		Map<String, Object> properties = new HashMap<>(kafkaAdmin.getConfigurationProperties());
		properties.put("request.timeout.ms", (int) REQUEST_TIMEOUT.toMillis());
		properties.put("default.api.timeout.ms", (int) TIMEOUT.toMillis());
		try (ClosedAtOnce client = new ClosedAtOnce(Admin.create(properties))) {
			for (RememberedKeys keys = this.added.poll(); keys != null; keys = this.added.poll()) {
				compare(keys, client.admin());
			}
		}
		catch (InterruptedException ex) {
			logger.debug("The application ends before the retention of its topics was looked up", ex);
		}
		catch (Exception ex) {
			logger.debug("The retention of topics could not be looked up, so it is not compared with that of keys", ex);
		}
	}

	private static void compare(RememberedKeys keys, Admin admin)
			throws InterruptedException, ExecutionException, TimeoutException {
		Collection<String> topics = keys.topics(() -> answer(admin.listTopics().names()));
		List<ConfigResource> resources = new ArrayList<>();
		topics.forEach((topic) -> resources.add(new ConfigResource(ConfigResource.Type.TOPIC, topic)));
		for (Map.Entry<ConfigResource, KafkaFuture<Config>> entry : admin.describeConfigs(resources)
			.values()
			.entrySet()) {
			try {
				String warning = keys.warning(entry.getKey().name(), answer(entry.getValue()));
				if (warning != null) {
					logger.warn(warning);
				}
			}
			catch (ExecutionException ex) {
				logger.debug("The retention of the topic '" + entry.getKey().name() + "' could not be looked up", ex);
			}
		}
	}

	private static <T> T answer(KafkaFuture<T> future)
			throws InterruptedException, ExecutionException, TimeoutException {
		return future.get(TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
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

	/**
	 * A client that does not wait for its last answers.
	 *
	 * @param admin the client
	 */
	private record ClosedAtOnce(Admin admin) implements AutoCloseable {

		@Override
		public void close() {
			this.admin.close(Duration.ZERO);
		}

	}

}
