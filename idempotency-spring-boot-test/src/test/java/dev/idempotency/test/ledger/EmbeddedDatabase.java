package dev.idempotency.test.ledger;

import java.io.IOException;

import javax.sql.DataSource;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.context.annotation.Bean;

/**
 * A PostgreSQL server without Docker.
 */
@TestConfiguration(proxyBeanMethods = false)
class EmbeddedDatabase {

	@Bean
	EmbeddedPostgres postgres() throws IOException {
		return EmbeddedPostgres.start();
	}

	@Bean
	DataSource dataSource(EmbeddedPostgres postgres) {
		return postgres.getPostgresDatabase();
	}

}
