package dev.idempotency.autoconfigure;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import tools.jackson.databind.json.JsonMapper;

import dev.idempotency.jackson.JacksonSerialization;
import dev.idempotency.template.Serialization;

/**
 * {@link AutoConfiguration Auto-configuration} for results and fingerprints in JSON.
 *
 * @since 0.1.0
 */
@AutoConfiguration(afterName = "org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration")
@ConditionalOnClass(JsonMapper.class)
@ConditionalOnIdempotency
public final class IdempotencyJacksonAutoConfiguration {

	@Bean
	@ConditionalOnMissingBean(Serialization.class)
	JacksonSerialization idempotencySerialization(ObjectProvider<JsonMapper> mapper) {
		return new JacksonSerialization(mapper.getIfUnique(() -> JsonMapper.builder().build()));
	}

}
