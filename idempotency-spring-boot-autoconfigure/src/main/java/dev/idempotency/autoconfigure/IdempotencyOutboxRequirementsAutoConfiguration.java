package dev.idempotency.autoconfigure;

import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.NoneNestedConditions;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.util.ClassUtils;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.autoconfigure.IdempotencyOutboxRequirementsAutoConfiguration.Incomplete;
import dev.idempotency.outbox.Outbox;

/**
 * {@link AutoConfiguration Auto-configuration} for an outbox that cannot be. It is asked
 * for by name, so a missing library is a mistake and no condition.
 *
 * @since 0.1.0
 */
@AutoConfiguration
@Conditional(Incomplete.class)
@ConditionalOnIdempotency
@ConditionalOnBooleanProperty("idempotency.outbox.enabled")
public final class IdempotencyOutboxRequirementsAutoConfiguration {

	// An Outbox, so that whoever asks for one first hears of it.
	@Bean
	@ConditionalOnMissingBean
	Outbox idempotencyOutbox(ConfigurableBeanFactory beanFactory) {
		boolean jdbc = ClassUtils.isPresent("org.springframework.jdbc.datasource.DataSourceUtils",
				beanFactory.getBeanClassLoader());
		throw new IdempotencyConfigurationException(
				"'idempotency.outbox.enabled' is 'true', but there is no Spring " + (jdbc ? "Kafka" : "JDBC")
						+ " on the class path.",
				"Add " + (jdbc ? "'spring-boot-starter-kafka'" : "'spring-boot-starter-jdbc' and a JDBC driver")
						+ ", or set 'idempotency.outbox.enabled' to 'false'.");
	}

	/**
	 * Not everything that an outbox needs is on the class path.
	 */
	static final class Incomplete extends NoneNestedConditions {

		Incomplete() {
			super(ConfigurationPhase.PARSE_CONFIGURATION);
		}

		@ConditionalOnClass({ DataSourceUtils.class, KafkaTemplate.class })
		static final class Complete {

		}

	}

}
