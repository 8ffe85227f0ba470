package dev.idempotency.readme;

import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The snippets of {@code README.md} with the application code that they require.
 */
final class Readme {

	static final String TOPIC = "payments";

	private static final Path FILE = Path.of("../README.md");

	private static final Pattern BLOCK = Pattern.compile("^ *```(\\w+)\\n(.*?)^ *```$",
			Pattern.MULTILINE | Pattern.DOTALL);

	// The fields that the snippets expect in the application.
	private static final String LISTENERS = """
			package com.example;

			import dev.idempotency.Idempotent;
			import dev.idempotency.IdempotentExecution;
			import dev.idempotency.Mode;
			import org.springframework.kafka.annotation.KafkaListener;
			import org.springframework.stereotype.Component;

			@Component
			class PaymentListeners {

			%s
			%s
			}
			""";

	private static final String JDBC = """
				@org.springframework.beans.factory.annotation.Autowired
				private org.springframework.jdbc.core.JdbcTemplate jdbc;
			""";

	private static final String GATEWAY = """
				@org.springframework.beans.factory.annotation.Autowired
				private Gateway gateway;
			""";

	private static final Map<String, String> APPLICATION = Map.of("PaymentCommand", """
			package com.example;

			public record PaymentCommand(String tenant, String paymentId, String account, int amount) {
			}
			""", "Gateway", """
			package com.example;

			import java.nio.file.*;

			@org.springframework.stereotype.Component
			class Gateway {

				@org.springframework.beans.factory.annotation.Value("${gateway.file}")
				private Path file;

				void charge(PaymentCommand command, String key) {
					try {
						Files.writeString(this.file, key + " " + command.amount() + System.lineSeparator(),
								StandardOpenOption.CREATE, StandardOpenOption.APPEND);
					}
					catch (java.io.IOException ex) {
						throw new IllegalStateException(ex);
					}
				}

			}
			""", "Application", """
			package com.example;

			import org.springframework.boot.SpringApplication;
			import org.springframework.boot.autoconfigure.SpringBootApplication;

			@SpringBootApplication
			public class Application {

				public static void main(String[] arguments) {
					SpringApplication.run(Application.class, arguments);
				}

			}
			""");

	private Readme() {
	}

	/**
	 * Return the code blocks of a language in their order.
	 * @param language the language
	 * @return the blocks
	 */
	static List<String> blocks(String language) {
		Matcher block = BLOCK.matcher(read());
		List<String> blocks = new ArrayList<>();
		while (block.find()) {
			if (block.group(1).equals(language)) {
				blocks.add(block.group(2).stripIndent());
			}
		}
		return blocks;
	}

	private static String read() {
		try {
			return Files.readString(FILE);
		}
		catch (IOException ex) {
			throw new IllegalStateException(ex);
		}
	}

	/**
	 * Return the properties with replaced server addresses.
	 * @param addresses the addresses by the names of their properties
	 * @return the properties
	 */
	static Map<String, String> properties(Map<String, String> addresses) {
		Properties properties = new Properties();
		try {
			properties.load(new StringReader(String.join("\n", blocks("properties"))));
		}
		catch (IOException ex) {
			throw new IllegalStateException(ex);
		}
		Map<String, String> all = new LinkedHashMap<>();
		properties.stringPropertyNames().forEach((name) -> all.put(name, properties.getProperty(name)));
		all.putAll(addresses);
		return all;
	}

	/**
	 * Return the source files of an application.
	 * @param store its store
	 * @return the contents by the names of their classes
	 */
	static Map<String, String> sources(Store store) {
		String listeners = blocks("java").stream()
			.filter((listener) -> store == Store.JDBC || !listener.contains("jdbc."))
			.collect(Collectors.joining("\n"));
		Map<String, String> sources = new LinkedHashMap<>(APPLICATION);
		sources.put("PaymentListeners",
				LISTENERS.formatted((store == Store.JDBC) ? JDBC + GATEWAY : GATEWAY, listeners));
		return sources;
	}

	/**
	 * Return the dependency on the starter.
	 * @param store the store
	 * @return the XML
	 */
	static String dependency(Store store) {
		String dependency = blocks("xml").get(0);
		return (store == Store.JDBC) ? dependency
				: dependency.replace("idempotency-spring-boot-starter<", "idempotency-spring-boot-starter-redis<");
	}

	/**
	 * The stores.
	 */
	enum Store {

		JDBC, REDIS

	}

}
