/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.time.Duration;

import org.springframework.boot.context.event.ApplicationFailedEvent;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.event.GenericApplicationListener;
import org.springframework.context.support.AbstractApplicationContext;

import dev.idempotency.Threads;

/**
 * Lets the application reconcile a listener and exit if
 * {@code idempotency.reconciliation.listener} is set.
 */
final class ReconciliationCommandInitializer implements ApplicationContextInitializer<ConfigurableApplicationContext> {

	@Override
	public void initialize(ConfigurableApplicationContext context) {
		if (!context.getEnvironment().containsProperty(ReconciliationProperties.PREFIX + ".listener")) {
			return;
		}
		ReconciliationCommand command = new ReconciliationCommand(context);
		command.setBeanFactory(context.getBeanFactory());
		// Boot declares no lifecycle processor then. A definition would collide with the
		// one that is generated ahead of time.
		context.getBeanFactory().registerSingleton(AbstractApplicationContext.LIFECYCLE_PROCESSOR_BEAN_NAME, command);
		context.addApplicationListener(GenericApplicationListener.forEventType(ApplicationFailedEvent.class,
				(event) -> exitAfter(Thread.currentThread())));
	}

	// Ends the process of an application that could not be started with the status for a
	// reconciliation that could not be run. Otherwise it would be the same as for
	// findings. The failure is reported after the event, on the thread of the start.
	private static void exitAfter(Thread starting) {
		new Thread(() -> {
			Threads.awaitEnd(starting, Duration.ofDays(1));
			System.exit(ReconciliationCommand.NOT_DONE);
		}, "idempotency-reconciliation-exit").start();
	}

}
