package dev.idempotency.autoconfigure;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.Lifecycle;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.format.annotation.DurationFormat;
import org.springframework.format.datetime.standard.DurationFormatterUtils;
import org.springframework.util.ClassUtils;

import dev.idempotency.autoconfigure.IdempotencyProperties.Cleanup;
import dev.idempotency.autoconfigure.IdempotencyProperties.Outbox;
import dev.idempotency.autoconfigure.IdempotencyProperties.Relay;
import dev.idempotency.autoconfigure.OutboxConfiguration.OutboxProducers;
import dev.idempotency.cleanup.CleanupJob;
import dev.idempotency.jdbc.JdbcOutboxStore;
import dev.idempotency.outbox.OutboxListener;
import dev.idempotency.outbox.OutboxNotifier;
import dev.idempotency.outbox.OutboxObserver;
import dev.idempotency.outbox.OutboxPublisher;
import dev.idempotency.outbox.OutboxRelay;
import dev.idempotency.outbox.OutboxRow;
import dev.idempotency.outbox.OutboxStore;
import dev.idempotency.outbox.RelaySettings;
import dev.idempotency.producer.KafkaOutboxPublisher;
import dev.idempotency.template.IdempotencyListener;
import dev.idempotency.template.IdempotencyListeners;

/**
 * The publishing side of the outbox: a relay in this instance or notifications to other
 * instances, and the background work that both need.
 */
@Configuration(proxyBeanMethods = false)
class OutboxRelayConfiguration {

	private static final Log logger = LogFactory.getLog(OutboxRelayConfiguration.class);

	// Absent when the application uses another database.
	private static final String DRIVER = "org.postgresql.PGConnection";

	@Bean
	@ConditionalOnProperty(name = "idempotency.outbox.relay", havingValue = "none")
	OutboxNotifier idempotencyOutboxNotifier(OutboxStore store) {
		return new OutboxNotifier(store);
	}

	// Published rows have to be deleted in every mode, also when another instance or a
	// connector publishes them.
	@Bean
	LifecycleGroup idempotencyOutboxLifecycle(OutboxStore outboxStore, ObjectProvider<JdbcOutboxStore> stores,
			IdempotencyProperties properties, ObjectProvider<IdempotencyListener> listeners,
			ObjectProvider<OutboxListener> outboxListeners, ObjectProvider<OutboxRelay> relay) {
		List<Lifecycle> parts = new ArrayList<>();
		parts.add(new OutboxObserver(outboxStore, outboxListeners.orderedStream().toList()));
		Cleanup cleanup = properties.cleanup();
		Outbox outbox = properties.outbox();
		logger.info("Outbox '" + outboxStore.table() + "': " + publisher(outbox.relay())
				+ " Published messages are kept for "
				+ DurationFormatterUtils.print(outbox.retention(), DurationFormat.Style.COMPOSITE));
		stores.ifAvailable((store) -> {
			if (cleanup.enabled()) {
				parts.add(new CleanupJob(store.expired(), cleanup.settings(),
						new IdempotencyListeners(listeners.orderedStream().toList())));
			}
			relay.ifAvailable((target) -> {
				if (outbox.listen() && ClassUtils.isPresent(DRIVER, null)) {
					store.notifications(target::wake).ifPresent(parts::add);
				}
			});
		});
		return new LifecycleGroup(SmartLifecycle.DEFAULT_PHASE, parts);
	}

	private static String publisher(Relay relay) {
		return switch (relay) {
			case EMBEDDED -> "this instance publishes messages (relay 'embedded').";
			case NONE -> "another instance must publish messages (relay 'none').";
			case DEBEZIUM -> "a connector must publish messages (relay 'debezium').";
		};
	}

	/**
	 * The relay of this instance.
	 */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnProperty(name = "idempotency.outbox.relay", havingValue = "embedded", matchIfMissing = true)
	static class Embedded {

		@Bean
		@ConditionalOnMissingBean
		OutboxPublisher idempotencyOutboxPublisher(OutboxProducers producers, IdempotencyProperties properties) {
			return new KafkaOutboxPublisher(producers.factory(), properties.outbox().sendTimeout(),
					keyHeaders(properties.key().headers()));
		}

		// Listeners with the same configuration as this application read the key from
		// these headers.
		private static Set<String> keyHeaders(List<String> headers) {
			return headers.contains(OutboxRow.KEY_HEADER) ? Set.of()
					: headers.stream().filter((name) -> !name.contains("+")).limit(1).collect(Collectors.toSet());
		}

		@Bean
		@ConditionalOnMissingBean
		OutboxRelay idempotencyOutboxRelay(OutboxStore store, OutboxPublisher publisher,
				IdempotencyProperties properties, ObjectProvider<OutboxListener> listeners) {
			Outbox outbox = properties.outbox();
			RelaySettings settings = new RelaySettings(outbox.batchSize(), outbox.pollInterval(), outbox.sendTimeout(),
					outbox.maxAttempts(), outbox.maxBackOff(), outbox.stopTimeout());
			return new OutboxRelay(store, publisher, settings, listeners.orderedStream().toList());
		}

	}

}
