package dev.idempotency.template;

import java.util.List;

import jakarta.persistence.Entity;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.Id;
import jakarta.persistence.Table;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.SharedEntityManagerCreator;
import org.springframework.orm.jpa.persistenceunit.PersistenceManagedTypes;
import org.springframework.orm.jpa.vendor.HibernateJpaVendorAdapter;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.test.Servers;
import dev.idempotency.test.TestDatabase;
import dev.idempotency.test.TextCodec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for {@link IdempotencyTemplate} with handlers that use JPA.
 */
@Tag("promise-5")
class JpaTransactionTests {

	private static final LocalContainerEntityManagerFactoryBean FACTORY = new LocalContainerEntityManagerFactoryBean();

	private static TestDatabase database;

	private static EntityManager entityManager;

	private static IdempotencyTemplate template;

	private final IdempotencyKey key = TestDatabase.newKey();

	private final String value = Servers.unique("value");

	@BeforeAll
	static void createDatabase() {
		database = TestDatabase.create();
		database.jdbc().execute("CREATE TABLE effect (name varchar(100) PRIMARY KEY)");
		FACTORY.setDataSource(database.pool());
		FACTORY.setJpaVendorAdapter(new HibernateJpaVendorAdapter());
		FACTORY.setManagedTypes(PersistenceManagedTypes.of(Effect.class.getName()));
		FACTORY.afterPropertiesSet();
		EntityManagerFactory factory = FACTORY.getObject();
		JpaTransactionManager manager = new JpaTransactionManager(factory);
		manager.setDataSource(database.pool());
		entityManager = SharedEntityManagerCreator.createSharedEntityManager(factory);
		template = new IdempotencyTemplate(database.store(), new Settings(manager, false, List.of()));
	}

	@AfterAll
	static void closeDatabase() {
		FACTORY.destroy();
		database.close();
	}

	private IdempotentResult<String> run(Runnable handler) {
		return template.execute(TestDatabase.operation(this.key, Mode.TRANSACTIONAL), new TextCodec(), () -> {
			entityManager.persist(new Effect(this.value));
			handler.run();
			return "done";
		});
	}

	private void runFailing() {
		run(() -> {
			entityManager.flush();
			throw new IllegalStateException("handler");
		});
	}

	private long effects() {
		return database.jdbc().queryForObject("SELECT count(*) FROM effect WHERE name = ?", Long.class, this.value);
	}

	@Test
	void entityAndRecordCommitTogether() {
		run(() -> {
			entityManager.flush();
			assertThat(database.store().find(this.key)).isEmpty();
		});
		assertThat(effects()).isOne();
		assertThat(database.record(this.key).state()).isEqualTo(State.COMPLETED);
	}

	@Test
	@Tag("promise-3")
	@Tag("promise-8")
	void duplicateReplaysTheFirstResult() {
		assertThat(run(() -> {
		})).isEqualTo(new IdempotentResult<>("done", false));
		assertThat(run(() -> {
		})).isEqualTo(new IdempotentResult<>("done", true));
	}

	@Test
	void failedHandlerLeavesNoEntity() {
		assertThatIllegalStateException().isThrownBy(this::runFailing);
		assertThat(effects()).isZero();
		assertThat(database.record(this.key).state()).isEqualTo(State.FAILED);
	}

	@Test
	void failedOperationRunsAgain() {
		assertThatIllegalStateException().isThrownBy(this::runFailing);
		run(() -> assertThat(IdempotentExecution.current().attempt()).isEqualTo(2));
		assertThat(effects()).isOne();
	}

	@Test
	void failedFlushAtTheCommitIsAFailureOfTheHandler() {
		database.jdbc().update("INSERT INTO effect VALUES (?)", this.value);
		assertThatException().isThrownBy(() -> run(() -> {
		})).isNotInstanceOf(OperationBlockedException.class);
		assertThat(database.record(this.key).state()).isEqualTo(State.FAILED);
	}

	@Entity
	@Table(name = "effect")
	static class Effect {

		@Id
		private String name;

		Effect() {
		}

		Effect(String name) {
			this.name = name;
		}

	}

}
