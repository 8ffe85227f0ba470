package dev.idempotency.listener;

import java.util.concurrent.CountDownLatch;

import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

import dev.idempotency.IdempotencyListener;
import dev.idempotency.Idempotent;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;
import dev.idempotency.test.TestApp;

/**
 * A consumer that stops dead at one point of the handling of each first record, so that
 * its process can be killed there.
 */
@Configuration(proxyBeanMethods = false)
public class CrashingApp {

	public static void main(String[] args) {
		// All settings are system properties of the process.
		new SpringApplicationBuilder(TestApp.Base.class, CrashingApp.class).run(args);
	}

	@Bean
	static CrashPoint crashPoint(Environment environment) {
		return new CrashPoint(environment.getProperty("crash", Boolean.class, false));
	}

	@Bean
	static CrashListeners crashListeners(JdbcTemplate jdbc, CrashPoint crashPoint) {
		return new CrashListeners(jdbc, crashPoint);
	}

	@Bean
	static IdempotencyListener afterCompletion(CrashPoint crashPoint) {
		return new IdempotencyListener() {

			@Override
			public void executed(Execution execution) {
				if (execution.outcome() == Outcome.PROCESSED && execution.key() != null
						&& execution.key().scope().equals("leased-after-completion")) {
					crashPoint.reach("leased-after-completion", execution.key().value());
				}
			}

		};
	}

	/**
	 * Where the process waits for its end.
	 */
	record CrashPoint(boolean active) {

		void reach(String name, String value) {
			if (this.active && value.equals("first")) {
				System.out.println("REACHED " + name);
				try {
					new CountDownLatch(1).await();
				}
				catch (InterruptedException ex) {
					Thread.currentThread().interrupt();
				}
			}
		}

	}

	/**
	 * One listener for each crash point.
	 */
	static class CrashListeners {

		private final JdbcTemplate jdbc;

		private final CrashPoint crashPoint;

		CrashListeners(JdbcTemplate jdbc, CrashPoint crashPoint) {
			this.jdbc = jdbc;
			this.crashPoint = crashPoint;
		}

		@Idempotent
		@KafkaListener(topics = "${topic}-transactional-running", groupId = "${topic}-transactional-running")
		void transactionalRunning(String value) {
			effect("transactional-running", value);
			this.crashPoint.reach("transactional-running", value);
		}

		@Idempotent
		@KafkaListener(topics = "${topic}-transactional-before-commit",
				groupId = "${topic}-transactional-before-commit")
		void transactionalBeforeCommit(String value) {
			effect("transactional-before-commit", value);
			TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

				@Override
				public void beforeCommit(boolean readOnly) {
					CrashListeners.this.crashPoint.reach("transactional-before-commit", value);
				}

			});
		}

		@Idempotent
		@KafkaListener(topics = "${topic}-transactional-after-commit", groupId = "${topic}-transactional-after-commit")
		void transactionalAfterCommit(String value) {
			effect("transactional-after-commit", value);
			TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

				@Override
				public void afterCommit() {
					CrashListeners.this.crashPoint.reach("transactional-after-commit", value);
				}

			});
		}

		@Idempotent(mode = Mode.LEASED, lease = "${lease}")
		@KafkaListener(topics = "${topic}-leased-running", groupId = "${topic}-leased-running")
		void leasedRunning(String value) {
			this.crashPoint.reach("leased-running", value);
			effect("leased-running", value);
		}

		@Idempotent(mode = Mode.LEASED, lease = "${lease}")
		@KafkaListener(topics = "${topic}-leased-after-effect", groupId = "${topic}-leased-after-effect")
		void leasedAfterEffect(String value) {
			effect("leased-after-effect", value);
			this.crashPoint.reach("leased-after-effect", value);
		}

		@Idempotent(mode = Mode.LEASED, lease = "${lease}", scope = "leased-after-completion")
		@KafkaListener(topics = "${topic}-leased-after-completion", groupId = "${topic}-leased-after-completion")
		void leasedAfterCompletion(String value) {
			effect("leased-after-completion", value);
		}

		private void effect(String name, String value) {
			this.jdbc.update("INSERT INTO effect (name, value, fence) VALUES (?, ?, ?)", name, value,
					IdempotentExecution.current().fence());
		}

	}

}
