/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;

/**
 * The calls within one application, by lane, without values that differ between runs.
 */
final class Trace {

	private static final Map<String, Trace> TRACES = new ConcurrentHashMap<>();

	// Classes that the JVM and Spring generate, and the rest of a printed stack trace.
	private static final List<Pattern> VOLATILE = List.of(Pattern.compile("\\$\\$Lambda[^ .,]*"),
			Pattern.compile("(?<=CGLIB\\$\\$)\\d+"), Pattern.compile("\\([A-Za-z]+\\.java:\\d+\\)"),
			Pattern.compile("(?m)^\\s+at (java|jdk|sun)\\..*\\R"), Pattern.compile("(?m)^\\s+\\.\\.\\. .*\\R"),
			Pattern.compile("@[0-9a-f]{5,8}\\b"), Pattern.compile("\\d{4}-\\d\\d-\\d\\dT[0-9:.]+Z"),
			Pattern.compile("CreateTime = \\d+"), Pattern.compile("(?<=proxied)-\\d(?=-C)"));

	private final String prefix;

	private final Map<String, Queue<String>> lanes = new ConcurrentHashMap<>();

	Trace(String prefix) {
		this.prefix = prefix;
		TRACES.put(prefix, this);
	}

	static Trace of(String prefix) {
		return TRACES.get(prefix);
	}

	void add(ConsumerRecord<?, ?> record, String what) {
		add(lane(record.topic()), what + " " + record.topic() + "/" + record.offset() + "=" + record.value() + " "
				+ headers(record) + " on " + Thread.currentThread().getName() + stack());
	}

	void add(String lane, String what) {
		this.lanes.computeIfAbsent(lane, (name) -> new ConcurrentLinkedQueue<>()).add(normalise(what));
	}

	/**
	 * Return the lane of a topic or group: the word after the prefix.
	 * @param name the topic or group
	 * @return the lane
	 */
	String lane(String name) {
		return name.substring(this.prefix.length() + 1).replaceFirst("-.*", "");
	}

	Map<String, List<String>> lanes() {
		return this.lanes.entrySet()
			.stream()
			.collect(Collectors.toMap(Map.Entry::getKey, (lane) -> new ArrayList<>(lane.getValue())));
	}

	long count(String lane, String what) {
		return this.lanes.getOrDefault(lane, new ConcurrentLinkedQueue<>())
			.stream()
			.filter((event) -> event.startsWith(what))
			.count();
	}

	private String normalise(String text) {
		String normalised = text.replace(this.prefix, "P");
		for (Pattern pattern : VOLATILE) {
			normalised = pattern.matcher(normalised).replaceAll("");
		}
		return normalised;
	}

	private static String headers(ConsumerRecord<?, ?> record) {
		return StreamSupport.stream(record.headers().spliterator(), false)
			.sorted(Comparator.comparing(Header::key))
			.map((header) -> header.key() + ":" + value(header))
			.toList()
			.toString();
	}

	private static String value(Header header) {
		if (header.key().contains("timestamp")) {
			return "*";
		}
		byte[] value = header.value();
		boolean number = value.length <= Long.BYTES && value.length > 0 && value[0] == 0;
		return number ? HexFormat.of().formatHex(value) : new String(value, StandardCharsets.UTF_8);
	}

	// Every class between the container and this
	// call, including those that only delegate.
	private static String stack() {
		return StackWalker.getInstance()
			.walk((frames) -> frames.map((frame) -> frame.getClassName() + "." + frame.getMethodName())
				.filter((frame) -> !frame.matches("(java|jdk|sun)\\..*|.*\\.Trace\\..*"))
				.collect(Collectors.joining("\n  < ", "\n  < ", "")));
	}

}
