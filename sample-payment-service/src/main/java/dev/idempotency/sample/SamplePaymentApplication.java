package dev.idempotency.sample;

import java.util.List;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.SpringBootApplication;

import dev.idempotency.sample.servers.EmbeddedServersInitializer;
import dev.idempotency.sample.servers.ServersOnly;

/**
 * Starts the payment service. With the argument {@code servers} it starts only the
 * servers that the service needs.
 */
@SpringBootApplication
public class SamplePaymentApplication {

	public static void main(String[] args) {
		boolean serversOnly = List.of(args).contains("servers");
		SpringApplication application = new SpringApplication(
				serversOnly ? ServersOnly.class : SamplePaymentApplication.class);
		application.addInitializers(new EmbeddedServersInitializer());
		if (serversOnly) {
			application.setWebApplicationType(WebApplicationType.NONE);
			application.setKeepAlive(true);
		}
		application.run(args);
	}

}
