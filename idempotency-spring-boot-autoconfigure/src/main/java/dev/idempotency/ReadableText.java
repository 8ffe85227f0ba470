/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency;

/**
 * Shows a text that a producer has chosen in a log line or in the message of an
 * exception. Characters that hide a part of the line, change its direction or end it are
 * shown by their codes.
 *
 * @since 0.1.0
 */
@Internal
public final class ReadableText {

	private ReadableText() {
	}

	/**
	 * Return a text that cannot change how the text around it looks.
	 * @param text the text, without control characters
	 * @return the text, in which each invisible character is its code, such as
	 * {@code &#92;u202E}
	 */
	public static String of(String text) {
		return text.codePoints().anyMatch(ReadableText::isInvisible) ? escaped(text) : text;
	}

	private static String escaped(String text) {
		StringBuilder shown = new StringBuilder();
		text.codePoints().forEach((point) -> {
			for (char character : Character.toChars(point)) {
				if (isInvisible(point)) {
					shown.append("\\u%04X".formatted((int) character));
				}
				else {
					shown.append(character);
				}
			}
		});
		return shown.toString();
	}

	private static boolean isInvisible(int point) {
		return switch (Character.getType(point)) {
			case Character.FORMAT, Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR -> true;
			default -> false;
		};
	}

}
