package dev.idempotency.storm;

import java.io.IOException;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.boot.kafka.autoconfigure.KafkaAutoConfiguration;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.BlockedPolicy;
import dev.idempotency.Idempotent;
import dev.idempotency.autoconfigure.IdempotencyAutoConfiguration;
import dev.idempotency.autoconfigure.IdempotencyJdbcAutoConfiguration;
import dev.idempotency.autoconfigure.IdempotencyKafkaAutoConfiguration;

/**
 * A consumer that parks blocked records. Its effects are numbered in their order. It ends
 * with the process that started it.
 */
@Configuration(proxyBeanMethods = false)
@ImportAutoConfiguration({ KafkaAutoConfiguration.class, DataSourceAutoConfiguration.class,
		JdbcTemplateAutoConfiguration.class, DataSourceTransactionManagerAutoConfiguration.class,
		IdempotencyAutoConfiguration.class, IdempotencyJdbcAutoConfiguration.class,
		IdempotencyKafkaAutoConfiguration.class })
public class ParkingApp {

	static final String STARTED = "STARTED";

	private final JdbcTemplate jdbc;

	ParkingApp(JdbcTemplate jdbc) {
		this.jdbc = jdbc;
	}

	public static void main(String[] args) throws IOException {
		new SpringApplicationBuilder(ParkingApp.class).run(args);
		System.out.println(STARTED);
		// Ends with the process at the other end.
		System.in.transferTo(System.err);
		Runtime.getRuntime().halt(1);
	}

	@Idempotent(blocked = BlockedPolicy.PARK)
	@KafkaListener(topics = "${topic}", groupId = "${topic}")
	void listen(ConsumerRecord<String, String> record) {
		this.jdbc.update("INSERT INTO effect (account, number, process) VALUES (?, ?, ?)", record.key(),
				Integer.valueOf(record.value()), ProcessHandle.current().pid());
	}

}
