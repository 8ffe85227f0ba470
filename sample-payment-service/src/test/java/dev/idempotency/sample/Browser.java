/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import org.springframework.util.FileSystemUtils;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * A headless Chromium that shows one page and is driven over the DevTools protocol. It
 * uses the installed browser, because drivers from Maven Central download one.
 */
final class Browser implements AutoCloseable {

	private static final List<String> NAMES = List.of("chromium", "chromium-browser", "google-chrome");

	private static final JsonMapper JSON = JsonMapper.shared();

	private final Process process;

	private final Path profile;

	private final Answers answers = new Answers();

	private final WebSocket socket;

	private int calls;

	private Browser(Process process, Path profile, URI page) {
		this.process = process;
		this.profile = profile;
		this.socket = HttpClient.newHttpClient().newWebSocketBuilder().buildAsync(page, this.answers).join();
	}

	static Optional<Path> executable() {
		return Stream.of(System.getenv("PATH").split(":"))
			.flatMap((folder) -> NAMES.stream().map((name) -> Path.of(folder, name)))
			.filter(Files::isExecutable)
			.findFirst();
	}

	static Browser open(String url) throws IOException {
		Path profile = Files.createTempDirectory("browser");
		Process process = new ProcessBuilder(executable().orElseThrow().toString(), "--headless=new", "--no-sandbox",
				"--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0", "--window-size=1280,1600",
				"--user-data-dir=" + profile, url)
			.redirectErrorStream(true)
			.start();
		return new Browser(process, profile, page(process.inputReader(), url));
	}

	// The browser prints its address and lists its pages there.
	private static URI page(BufferedReader output, String url) throws IOException {
		String line = output.readLine();
		while (line != null && !line.contains("DevTools listening on ")) {
			line = output.readLine();
		}
		URI browser = URI.create(String.valueOf(line).replaceFirst(".*listening on ", ""));
		while (true) {
			try (var list = URI.create("http://" + browser.getAuthority() + "/json").toURL().openStream()) {
				for (JsonNode target : JSON.readTree(list)) {
					if (target.at("/url").stringValue().startsWith(url)) {
						return URI.create(target.at("/webSocketDebuggerUrl").stringValue());
					}
				}
			}
		}
	}

	/**
	 * Evaluate an expression in the page.
	 * @param expression the JavaScript expression, which may be a promise
	 * @return the value of the expression
	 */
	JsonNode evaluate(String expression) {
		JsonNode answer = call("Runtime.evaluate",
				Map.of("expression", expression, "returnByValue", true, "awaitPromise", true));
		if (answer.has("exceptionDetails")) {
			throw new IllegalStateException(answer.at("/exceptionDetails").toString());
		}
		return answer.at("/result/value");
	}

	byte[] screenshot() {
		return Base64.getDecoder()
			.decode(call("Page.captureScreenshot", Map.of("format", "png")).at("/data").stringValue());
	}

	private JsonNode call(String method, Map<String, Object> parameters) {
		int id = ++this.calls;
		CompletableFuture<JsonNode> answer = this.answers.to(id);
		this.socket.sendText(JSON.writeValueAsString(Map.of("id", id, "method", method, "params", parameters)), true);
		return answer.orTimeout(Duration.ofSeconds(20).toMillis(), TimeUnit.MILLISECONDS).join();
	}

	@Override
	public void close() throws IOException {
		this.socket.abort();
		// The browser's own processes write to the profile until they end.
		List<ProcessHandle> processes = Stream.concat(this.process.descendants(), Stream.of(this.process.toHandle()))
			.toList();
		processes.forEach(ProcessHandle::destroyForcibly);
		processes.forEach((process) -> process.onExit().join());
		FileSystemUtils.deleteRecursively(this.profile);
	}

	/**
	 * Waits for one response at a time.
	 */
	private static final class Answers implements WebSocket.Listener {

		private final StringBuilder text = new StringBuilder();

		private volatile int id;

		private volatile CompletableFuture<JsonNode> next = new CompletableFuture<>();

		CompletableFuture<JsonNode> to(int id) {
			this.next = new CompletableFuture<>();
			this.id = id;
			return this.next;
		}

		@Override
		public CompletionStage<?> onText(WebSocket socket, CharSequence part, boolean last) {
			this.text.append(part);
			if (last) {
				JsonNode message = JSON.readTree(this.text.toString());
				this.text.setLength(0);
				if (message.path("id").asInt(0) == this.id) {
					this.next.complete(message.path("result"));
				}
			}
			socket.request(1);
			return null;
		}

	}

}
