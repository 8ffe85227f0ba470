package dev.idempotency.test;

import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.ContainerFetchException;
import org.testcontainers.containers.ContainerLaunchException;

/**
 * A PostgreSQL server that can be stopped and started again at the same address.
 */
public interface PostgresServer {

	String IMAGE = "postgres:17-alpine";

	/**
	 * Start a server: in a container where Docker answers and has the image, from the
	 * binaries on Maven Central elsewhere. The system property {@code test.servers},
	 * {@code docker} or {@code embedded}, decides otherwise.
	 * @return the server
	 */
	static PostgresServer create() {
		return switch (System.getProperty("test.servers", "auto")) {
			case "docker" -> new ContainerPostgresServer();
			case "embedded" -> new EmbeddedPostgresServer();
			default -> createAny();
		};
	}

	private static PostgresServer createAny() {
		if (DockerClientFactory.instance().isDockerAvailable()) {
			try {
				return new ContainerPostgresServer();
			}
			catch (ContainerLaunchException | ContainerFetchException | IllegalStateException ex) {
				System.err.println("Docker answers, but cannot run " + IMAGE + ": the embedded server takes its place");
			}
		}
		return new EmbeddedPostgresServer();
	}

	String url(String database);

	String username();

	String password();

	void stop();

	void start();

}
