package dev.idempotency.sample.summary;

import org.apache.kafka.clients.admin.Admin;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.core.KafkaAdmin;

/**
 * The Kafka client that reads offsets.
 */
@Configuration(proxyBeanMethods = false)
class KafkaAdminClient {

	@Bean
	Admin admin(KafkaAdmin kafkaAdmin) {
		return Admin.create(kafkaAdmin.getConfigurationProperties());
	}

}
