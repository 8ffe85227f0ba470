/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Finishes the pages that the site plugin has rendered and checks their links. It gives the headings the anchors that
 * GitHub gives them, so that a link works in both places, and lets wide tables scroll in themselves.
 */
public final class FinishSite {

	private static final Pattern HEADING = Pattern
		.compile("(?:<a id=\"[^\"]*\"></a>\\s*)+<(h[1-6])>(.*?)</\\1>", Pattern.DOTALL);

	private static final Pattern DIAGRAM = Pattern
		.compile("<pre[^>]*><code class=\"language-mermaid\">(.*?)</code></pre>", Pattern.DOTALL);

	private static final Pattern SKIN = Pattern
		.compile(" *<link rel=\"stylesheet\" href=\"[^\"]*(?:fluido[^\"]*|print)\\.css\"[^>]*>\n"
				+ "|<a [^>]*class=\"builtBy\".*?</a>", Pattern.DOTALL);

	private static final Pattern LINK = Pattern.compile(" (?:href|src)=\"([^\"]*)\"");

	private static final Pattern ID = Pattern.compile(" id=\"([^\"]*)\"");

	private FinishSite() {
	}

	public static void main(String[] arguments) throws IOException {
		List<Path> pages;
		try (Stream<Path> files = Files.walk(Path.of(arguments[0]))) {
			pages = files.filter((file) -> file.toString().endsWith(".html")).toList();
		}
		Map<Path, String> contents = new HashMap<>();
		for (Path page : pages) {
			contents.put(page.normalize(), finish(Files.readString(page)));
			Files.writeString(page, contents.get(page.normalize()));
		}
		List<String> broken = new ArrayList<>();
		contents.forEach((page, content) -> broken.addAll(brokenLinks(page, content, contents)));
		if (!broken.isEmpty()) {
			throw new IllegalStateException("Links of the site that lead nowhere:\n" + String.join("\n", broken));
		}
		System.out.println(pages.size() + " pages, every link leads to a file and a heading");
	}

	private static String finish(String page) {
		Set<String> anchors = new HashSet<>();
		String content = SKIN.matcher(page).replaceAll("");
		content = HEADING.matcher(content)
			.replaceAll((heading) -> Matcher.quoteReplacement(heading(heading, anchors)));
		content = DIAGRAM.matcher(content).replaceAll("<pre class=\"mermaid\">$1</pre>");
		// The skin's highlighter does not know YAML.
		content = content.replaceAll("<pre[^>]*>(?=<code class=\"language-(?:yaml|properties|console)\")", "<pre>");
		return content.replaceAll("<table[^>]*>", "<div class=\"table\"><table>").replace("</table>", "</table></div>");
	}

	private static String heading(MatchResult heading, Set<String> anchors) {
		String text = heading.group(2).replaceAll("<[^>]*>", "").replaceAll("&#?\\w+;", "");
		String slug = text.strip().toLowerCase().replaceAll("[^\\p{L}\\p{N} _-]", "").replace(' ', '-');
		String anchor = slug;
		for (int i = 1; !anchors.add(anchor); i++) {
			anchor = slug + "-" + i;
		}
		return "<%1$s id=\"%2$s\">%3$s <a class=\"anchor\" href=\"#%2$s\" aria-label=\"Link to this section\">#</a></%1$s>"
			.formatted(heading.group(1), anchor, heading.group(2));
	}

	private static List<String> brokenLinks(Path page, String content, Map<Path, String> pages) {
		List<String> broken = new ArrayList<>();
		Matcher link = LINK.matcher(content.replaceAll("(?s)<!--.*?-->", ""));
		while (link.find()) {
			String[] target = link.group(1).split("#", 2);
			if (target[0].matches("[a-z]+:.*")) {
				continue;
			}
			Path file = target[0].isEmpty() ? page : page.resolveSibling(target[0]).normalize();
			boolean found = Files.isRegularFile(file)
					&& (target.length == 1 || !pages.containsKey(file) || ids(pages.get(file)).contains(target[1]));
			if (!found) {
				broken.add(page + ": " + link.group(1));
			}
		}
		return broken;
	}

	private static Set<String> ids(String content) {
		Set<String> ids = new HashSet<>();
		ID.matcher(content).results().forEach((id) -> ids.add(id.group(1)));
		return ids;
	}

}
