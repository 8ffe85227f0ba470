package dev.idempotency.sample.servers;

import java.util.LinkedHashMap;
import java.util.Map;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.env.MapPropertySource;

/**
 * Starts each server whose address is not configured, before any bean needs it.
 */
public final class EmbeddedServersInitializer implements ApplicationContextInitializer<GenericApplicationContext> {

	static final String KAFKA = "spring.kafka.bootstrap-servers";

	static final String POSTGRES = "spring.datasource.url";

	private static final Logger logger = LoggerFactory.getLogger(EmbeddedServersInitializer.class);

	@Override
	public void initialize(GenericApplicationContext context) {
		Map<String, Object> addresses = new LinkedHashMap<>();
		context.getEnvironment().getPropertySources().addFirst(new MapPropertySource("embeddedServers", addresses));
		if (!context.getEnvironment().containsProperty(POSTGRES)) {
			logger.info("Starting PostgreSQL; set {} to use another one", POSTGRES);
			Postgres postgres = Postgres.start();
			stopLast(context, postgres);
			addresses.put(POSTGRES, postgres.url());
		}
		if (!context.getEnvironment().containsProperty(KAFKA)) {
			logger.info("Starting Kafka; set {} to use another one", KAFKA);
			Kafka kafka = Kafka.start();
			stopLast(context, kafka);
			addresses.put(KAFKA, kafka.bootstrapServers());
		}
	}

	private void stopLast(GenericApplicationContext context, DisposableBean server) {
		// Beans are destroyed in the reverse order of their registration, and nothing is
		// registered before the initializers run.
		DefaultListableBeanFactory beans = context.getDefaultListableBeanFactory();
		beans.registerDisposableBean(server.getClass().getName(), server);
	}

}
