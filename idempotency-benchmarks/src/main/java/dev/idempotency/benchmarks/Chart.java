/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.util.List;
import java.util.Locale;

/**
 * A bar chart of the ratios to the limits, with marks for floors and aims. Its colours
 * are readable on light and dark backgrounds.
 */
final class Chart {

	private static final int LEFT = 330;

	private static final int WIDTH = 860;

	private static final int ROW = 26;

	private static final int TOP = 64;

	// Leaves room for ratios above 1, which occur on a noisy machine.
	private static final double MOST = 1.2;

	private static final String HEAD = """
			<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %1$d %2$d" width="%1$d" height="%2$d" role="img">
			<title>Share of the limit's rate that protected listeners keep</title>
			<style>
			text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #6e7681 }
			.title { font-size: 15px; font-weight: 600 }
			.value { font-weight: 600 }
			.grid { stroke: #8b949e; stroke-opacity: 0.35 }
			rect { fill-opacity: 0.6 }
			.met { fill: #2da44e }
			.floor-met { fill: #d4a017 }
			.missed { fill: #e5534b }
			.floor { stroke: #8250df; stroke-width: 3; stroke-dasharray: 4 2 }
			.aim { stroke: #1f6feb; stroke-width: 3 }
			@media (prefers-color-scheme: dark) { text { fill: #9aa4af } }
			</style>
			""";

	private final List<Measured> rows;

	Chart(List<Measured> rows) {
		this.rows = rows;
	}

	String toSvg() {
		StringBuilder svg = new StringBuilder();
		int bottom = TOP + this.rows.size() * ROW;
		add(svg, HEAD, WIDTH, bottom + 34);
		add(svg, "<text class=\"title\" x=\"0\" y=\"18\">Records per second, as a share of the limit's</text>");
		legend(svg);
		for (int tenth = 0; tenth <= MOST * 10; tenth += 2) {
			double x = x(tenth / 10.0);
			add(svg, "<line class=\"grid\" x1=\"%1$.1f\" y1=\"%2$d\" x2=\"%1$.1f\" y2=\"%3$d\"/>", x, TOP, bottom);
			add(svg, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.1f</text>", x, bottom + 18, tenth / 10.0);
		}
		for (int i = 0; i < this.rows.size(); i++) {
			Goal goal = this.rows.get(i).work().goal();
			if (goal != null) {
				bar(svg, this.rows.get(i), goal, TOP + i * ROW);
			}
		}
		return svg.append("</svg>\n").toString();
	}

	private static void legend(StringBuilder svg) {
		add(svg, "<line class=\"floor\" x1=\"%1$d\" y1=\"30\" x2=\"%1$d\" y2=\"46\"/>", LEFT);
		add(svg, "<text x=\"%d\" y=\"43\">floor</text>", LEFT + 8);
		add(svg, "<line class=\"aim\" x1=\"%1$d\" y1=\"30\" x2=\"%1$d\" y2=\"46\"/>", LEFT + 60);
		add(svg, "<text x=\"%d\" y=\"43\">aim</text>", LEFT + 68);
		square(svg, "met", LEFT + 120, "aim met");
		square(svg, "floor-met", LEFT + 210, "floor met");
		square(svg, "missed", LEFT + 305, "missed");
	}

	private static void square(StringBuilder svg, String style, int x, String text) {
		add(svg, "<rect class=\"%s\" x=\"%d\" y=\"32\" width=\"12\" height=\"12\" rx=\"2\"/>", style, x);
		add(svg, "<text x=\"%d\" y=\"43\">%s</text>", x + 18, text);
	}

	private static void bar(StringBuilder svg, Measured row, Goal goal, int y) {
		String style = switch (goal.verdict(row.ratio())) {
			case "aim met" -> "met";
			case "floor met" -> "floor-met";
			default -> "missed";
		};
		double end = x(Math.min(row.ratio(), MOST));
		add(svg, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s, %s</text>", LEFT - 10, y + 18, row.work(),
				(row.threads() == 1) ? "1 thread" : row.threads() + " threads");
		add(svg, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"16\" rx=\"2\"/>", style, LEFT, y + 5,
				end - LEFT);
		add(svg, "<line class=\"floor\" x1=\"%1$.1f\" y1=\"%2$d\" x2=\"%1$.1f\" y2=\"%3$d\"/>", x(goal.floor()), y + 2,
				y + 24);
		add(svg, "<line class=\"aim\" x1=\"%1$.1f\" y1=\"%2$d\" x2=\"%1$.1f\" y2=\"%3$d\"/>", x(goal.aim()), y + 2,
				y + 24);
		add(svg, "<text class=\"value\" x=\"%.0f\" y=\"%d\">%.2f</text>", x(MOST) + 8, y + 18, row.ratio());
	}

	private static double x(double ratio) {
		return LEFT + ratio / MOST * (WIDTH - LEFT - 50);
	}

	private static void add(StringBuilder svg, String format, Object... values) {
		svg.append(String.format(Locale.ROOT, format, values)).append('\n');
	}

}
