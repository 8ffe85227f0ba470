package dev.idempotency.autoconfigure;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import dev.idempotency.Mode;
import dev.idempotency.jdbc.JdbcIdempotencyStore;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.IdempotentOperation;
import dev.idempotency.testsupport.Contexts;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link IdempotencyJdbcAutoConfiguration} on H2.
 */
class H2AutoConfigurationTests {

	@Test
	@Tag("promise-12")
	void partitionedLayoutIsRefusedOnH2() {
		assertThat(Contexts
			.failure(Contexts.all()
				.withPropertyValues("spring.datasource.url=jdbc:h2:mem:partitioned", "spring.datasource.username=sa",
						"spring.datasource.password=", "idempotency.jdbc.layout=partitioned"))
			.getAction()).isEqualTo("Set 'idempotency.jdbc.layout' to 'single', or use PostgreSQL.");
	}

	@Test
	void storeOnH2SupportsTransactions() {
		Contexts.all()
			.withPropertyValues("spring.datasource.url=jdbc:h2:mem:auto", "spring.datasource.username=sa",
					"spring.datasource.password=")
			.run((context) -> {
				assertThat(context).hasSingleBean(JdbcIdempotencyStore.class);
				IdempotencyTemplate template = context.getBean(IdempotencyTemplate.class);
				assertThat(template.supportsTransactions()).isTrue();
				IdempotentOperation operation = TestDatabase.operation(TestDatabase.newKey(), Mode.TRANSACTIONAL);
				assertThat(template.execute(operation, new TextCodec(), () -> "done").duplicate()).isFalse();
				assertThat(template.execute(operation, new TextCodec(), () -> "done").duplicate()).isTrue();
			});
	}

}
