/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.time.Duration;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

import dev.idempotency.Mode;
import dev.idempotency.jdbc.JdbcIdempotencyStore;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.IdempotentOperation;
import dev.idempotency.template.OperationSpec;
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
				assertThat(template.operation("transfers", "1").execute(Integer.class, () -> 5).result()).isEqualTo(5);
			});
	}

	@Test
	void operationsOfTheTemplateHaveTheDefaultsOfTheProperties() {
		ApplicationContextRunner runner = Contexts.all()
			.withPropertyValues("spring.datasource.url=jdbc:h2:mem:defaults", "spring.datasource.username=sa",
					"spring.datasource.password=");
		runner.run((context) -> {
			OperationSpec.Defaults standard = OperationSpec.Defaults.STANDARD;
			OperationSpec operation = context.getBean(IdempotencyTemplate.class).operation("transfers", "1");
			assertThat(operation.build()).returns(Mode.TRANSACTIONAL, IdempotentOperation::mode)
				.returns(standard.lease(), IdempotentOperation::lease)
				.returns(standard.retention(), IdempotentOperation::retention);
			assertThat(operation.version(1).build().retention()).isEqualTo(standard.versionRetention());
		});
		runner
			.withPropertyValues("idempotency.mode=leased", "idempotency.lease=5s", "idempotency.retention=1d",
					"idempotency.version.retention=2d")
			.run((context) -> {
				OperationSpec operation = context.getBean(IdempotencyTemplate.class).operation("transfers", "1");
				assertThat(operation.build()).returns(Mode.LEASED, IdempotentOperation::mode)
					.returns(Duration.ofSeconds(5), IdempotentOperation::lease)
					.returns(Duration.ofDays(1), IdempotentOperation::retention);
				assertThat(operation.version(1).build().retention()).isEqualTo(Duration.ofDays(2));
			});
	}

}
