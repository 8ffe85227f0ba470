package dev.idempotency.test;

import org.testcontainers.DockerClientFactory;

/**
 * A PostgreSQL server that can be stopped and started again at the same address.
 */
public interface PostgresServer {

	String IMAGE = "postgres:17-alpine";

	/**
	 * Start a server: in a container where Docker answers, from the binaries on Maven
	 * Central elsewhere. The system property {@code test.servers}, {@code docker} or
	 * {@code embedded}, decides otherwise.
	 * @return the server
	 */
	static PostgresServer create() {
		String servers = System.getProperty("test.servers", "auto");
		boolean docker = servers.equals("docker")
				|| (servers.equals("auto") && DockerClientFactory.instance().isDockerAvailable());
		return docker ? new ContainerPostgresServer() : new EmbeddedPostgresServer();
	}

	String url(String database);

	String username();

	String password();

	void stop();

	void start();

}
