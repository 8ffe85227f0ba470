package dev.idempotency.listener;

import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.ApplicationListener;
import org.springframework.core.Ordered;
import org.springframework.kafka.event.ConsumerStartingEvent;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.util.backoff.BackOff;
import org.springframework.util.backoff.BackOffExecution;
import org.springframework.util.backoff.ExponentialBackOff;

import dev.idempotency.listener.error.BlockedRecordHandling;

/**
 * Verifies the protection of a container each time one of its consumers starts, on the
 * thread of the consumer and before its first poll. A consumer whose listener, error
 * handler or after-rollback processor was replaced is restarted with the protection; a
 * container that can be protected no more is stopped.
 *
 * @since 0.1.0
 */
public final class ContainerInstallations implements ApplicationListener<ConsumerStartingEvent>, Ordered {

	private static final Log logger = LogFactory.getLog(ContainerInstallations.class);

	// Half a minute in all.
	private static final BackOff RESTARTS = restarts();

	private final BlockedRecordHandling blockedRecords;

	private final ApplicationEventPublisher publisher;

	// A container may be unregistered.
	private final Map<AbstractMessageListenerContainer<?, ?>, ContainerInstallation> installations = Collections
		.synchronizedMap(new WeakHashMap<>());

	private final Set<AbstractMessageListenerContainer<?, ?>> restarted = Collections
		.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

	public ContainerInstallations(BlockedRecordHandling blockedRecords, ApplicationEventPublisher publisher) {
		this.blockedRecords = blockedRecords;
		this.publisher = publisher;
	}

	private static BackOff restarts() {
		ExponentialBackOff backOff = new ExponentialBackOff(500, 2);
		backOff.setMaxAttempts(6);
		return backOff;
	}

	void install(AbstractMessageListenerContainer<?, ?> container, ProtectedListeners listeners) {
		ContainerInstallation installation = new ContainerInstallation(container, listeners, this.blockedRecords);
		installation.install(container);
		if (container.getApplicationEventPublisher() == null) {
			// The factory of the container is not a bean.
			container.setApplicationEventPublisher(this.publisher);
		}
		this.installations.put(container, installation);
	}

	@Override
	public void onApplicationEvent(ConsumerStartingEvent event) {
		AbstractMessageListenerContainer<?, ?> container = event.getContainer(AbstractMessageListenerContainer.class);
		ContainerInstallation installation = this.installations.get(container);
		if (installation == null) {
			return;
		}
		AbstractMessageListenerContainer<?, ?> consumer = event.getSource(AbstractMessageListenerContainer.class);
		String problem = installation.problem(consumer);
		if (problem == null) {
			if (installation.isInstalled(consumer)) {
				this.restarted.remove(consumer);
				return;
			}
			problem = this.restarted.add(consumer) ? null
					: "its listener, error handler or after-rollback processor is replaced at each start. "
							+ "Set it on the container factory";
		}
		if (problem != null) {
			stop(container, consumer, problem);
			return;
		}
		installation.install(container);
		installation.install(consumer);
		logger.info("The listener, the error handler or the after-rollback processor of the container '"
				+ container.getListenerId() + "' was replaced after its registration. Its consumer is restarted, "
				+ "because a blocked record would be given up otherwise");
		consumer.stop(() -> run("idempotency-restart", () -> restart(container, consumer)));
	}

	// The consumer has not polled: a container that is not running does not.
	private static void stop(AbstractMessageListenerContainer<?, ?> container,
			AbstractMessageListenerContainer<?, ?> consumer, String problem) {
		logger.error("The container '" + container.getListenerId()
				+ "' was stopped before it delivered a record: its listener is idempotent, and " + problem);
		consumer.stop(() -> {
		});
		// The thread that starts the container holds its lock until all consumers start.
		run("idempotency-stop", () -> container.stop(() -> {
		}));
	}

	// A consumer that does not start would leave its partitions without one, because the
	// container runs on.
	private static void restart(AbstractMessageListenerContainer<?, ?> container,
			AbstractMessageListenerContainer<?, ?> consumer) {
		BackOffExecution backOff = RESTARTS.start();
		while (isExpected(container, consumer)) {
			try {
				consumer.start();
				return;
			}
			catch (RuntimeException | Error ex) {
				if (!isExpected(container, consumer)) {
					// The application has stopped the container in the meantime.
					logger.debug("A consumer was not restarted", ex);
					return;
				}
				long delay = backOff.nextBackOff();
				if (delay == BackOffExecution.STOP) {
					stop(container, consumer, "its consumer could not be restarted with the protection: " + ex
							+ ". Remove the cause and start the container again");
					return;
				}
				logger.warn("A consumer of the container '" + container.getListenerId()
						+ "' could not be restarted. The restart is retried in " + delay + " ms", ex);
				sleep(delay);
			}
		}
	}

	// A container without children is its own consumer, and does not run between.
	private static boolean isExpected(AbstractMessageListenerContainer<?, ?> container,
			AbstractMessageListenerContainer<?, ?> consumer) {
		return container == consumer
				|| (container.isRunning() && (!(container instanceof ConcurrentMessageListenerContainer<?, ?> parent)
						|| parent.getContainers().contains(consumer)));
	}

	private static void sleep(long milliseconds) {
		try {
			Thread.sleep(milliseconds);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	private static void run(String name, Runnable action) {
		Thread thread = new Thread(action, name);
		thread.setDaemon(true);
		thread.start();
	}

	// The consumer must not poll before.
	@Override
	public boolean supportsAsyncExecution() {
		return false;
	}

	// Another listener of this event may change the container for its next start.
	@Override
	public int getOrder() {
		return Ordered.HIGHEST_PRECEDENCE;
	}

}
