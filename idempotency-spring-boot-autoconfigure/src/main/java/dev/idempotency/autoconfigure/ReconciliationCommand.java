/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.support.DefaultLifecycleProcessor;

import dev.idempotency.reconcile.Reconciliation;
import dev.idempotency.reconcile.ReconciliationCsv;
import dev.idempotency.reconcile.ReconciliationFinding;
import dev.idempotency.reconcile.ReconciliationReport;
import dev.idempotency.reconcile.ReconciliationReport.State;

/**
 * Reconciles a listener instead of starting the application, and ends the process. It is
 * the lifecycle processor of the context, because no other place is early enough: the
 * beans exist, so that keys are resolved as they are in the application, but no listener
 * container, web server, scheduled task or runner has started, whatever its settings.
 */
final class ReconciliationCommand extends DefaultLifecycleProcessor {

	static final int NOTHING_FOUND = 0;

	static final int FOUND = 1;

	static final int NOT_DONE = 2;

	// Without an output file, some records are printed.
	private static final int PRINTED = 20;

	private final ConfigurableApplicationContext context;

	private final PrintStream out = System.out;

	ReconciliationCommand(ConfigurableApplicationContext context) {
		this.context = context;
	}

	@Override
	public void onRefresh() {
		int code = execute();
		SpringApplication.exit(this.context, () -> code);
		System.exit(code);
	}

	private int execute() {
		try {
			ReconciliationProperties properties = Binder.get(this.context.getEnvironment())
				.bindOrCreate(ReconciliationProperties.PREFIX, ReconciliationProperties.class);
			Reconciliation reconciliation = this.context.getBeanProvider(Reconciliation.class).getIfAvailable();
			if (reconciliation == null) {
				return failed("the application has no idempotent listeners, or 'idempotency.enabled' is false");
			}
			return execute(reconciliation, properties);
		}
		catch (BindException ex) {
			return failed("'" + ex.getProperty() + "' has an unusable value: " + ex.getCause());
		}
		catch (IOException | UncheckedIOException ex) {
			return failed("the output could not be written: " + ex);
		}
		catch (IllegalArgumentException | IllegalStateException ex) {
			return failed(ex.getMessage());
		}
	}

	private int failed(@Nullable String reason) {
		this.out.println("The reconciliation could not be run: " + reason);
		return NOT_DONE;
	}

	private int execute(Reconciliation reconciliation, ReconciliationProperties properties) throws IOException {
		this.out.println("Reconciliation of the listener '" + properties.listener() + "' with the store");
		Path output = properties.output();
		ReconciliationReport report;
		AtomicInteger printed = new AtomicInteger();
		try (Writer writer = (output != null) ? Files.newBufferedWriter(output) : Writer.nullWriter()) {
			writer.write(ReconciliationCsv.HEADER);
			report = reconciliation.run(properties.request(), (finding) -> {
				write(writer, finding);
				if (output == null && printed.incrementAndGet() <= PRINTED) {
					this.out.print("  " + ReconciliationCsv.line(finding));
				}
			}, (progress) -> this.out.println("  " + progress.read() + " of at most " + progress.total()
					+ " records compared, " + progress.findingCount() + " findings"));
		}
		printSummary(report, output);
		if (report.state() != State.DONE) {
			return NOT_DONE;
		}
		return (report.findingCount() > 0) ? FOUND : NOTHING_FOUND;
	}

	private static void write(Writer writer, ReconciliationFinding finding) {
		try {
			writer.write(ReconciliationCsv.line(finding));
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private void printSummary(ReconciliationReport report, @Nullable Path output) {
		this.out.println(report.state() + ": " + report.read() + " of at most " + report.total()
				+ " records compared in " + report.duration().toMillis() + " ms");
		report.counts()
			.forEach((status, count) -> this.out
				.println("  %-13s %10d%s".formatted(status, count, status.isFinding() ? "  <- look at them" : "")));
		if (report.error() != null) {
			this.out.println(report.error());
		}
		if (output != null) {
			this.out.println(report.listed() + " records are listed in " + output);
		}
		else if (report.listed() > PRINTED) {
			this.out.println((report.listed() - PRINTED)
					+ " more records are not shown. Set 'idempotency.reconciliation.output' to a file");
		}
	}

}
