package dev.idempotency.sample.servers;

import org.apache.kafka.common.utils.Exit;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.boot.logging.LogLevel;
import org.springframework.boot.logging.LoggingSystem;
import org.springframework.kafka.test.EmbeddedKafkaKraftBroker;

/**
 * A Kafka broker in this JVM.
 */
final class Kafka implements DisposableBean {

	private final EmbeddedKafkaKraftBroker broker;

	private Kafka(EmbeddedKafkaKraftBroker broker) {
		this.broker = broker;
	}

	static Kafka start() {
		EmbeddedKafkaKraftBroker broker = new EmbeddedKafkaKraftBroker(1, 1);
		// Its default would set a system property that outlives the broker.
		broker.brokerListProperty("sample.servers.kafka");
		// Its shutdown hook would delete the files of the broker while listeners still
		// run;
		// the broker deletes them itself when it is destroyed.
		Exit.setShutdownHookAdder((name, hook) -> {
		});
		broker.afterPropertiesSet();
		Exit.resetShutdownHookAdder();
		return new Kafka(broker);
	}

	String bootstrapServers() {
		return this.broker.getBrokersAsString();
	}

	@Override
	public void destroy() {
		// The broker closes one of its own clients twice and warns about it.
		LoggingSystem.get(getClass().getClassLoader())
			.setLogLevel("org.apache.kafka.clients.NetworkClient", LogLevel.ERROR);
		this.broker.destroy();
	}

}
