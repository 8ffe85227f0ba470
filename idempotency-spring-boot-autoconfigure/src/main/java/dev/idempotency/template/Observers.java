/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.List;
import java.util.function.Consumer;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.springframework.beans.factory.BeanFactory;

import dev.idempotency.Internal;

/**
 * Notifies all observers, and logs and drops their exceptions.
 *
 * @param operations the observers of operations, in the order in which they are called
 * @param stores the observers of stores, in the order in which they are called
 * @since 0.1.0
 */
public record Observers(List<OperationObserver> operations, List<StoreObserver> stores) {

	private static final Log logger = LogFactory.getLog(Observers.class);

	public Observers {
		operations = List.copyOf(operations);
		stores = List.copyOf(stores);
	}

	/**
	 * Return no observers.
	 * @return an instance that notifies nothing
	 */
	public static Observers none() {
		return new Observers(List.of(), List.of());
	}

	/**
	 * Return the observers among the beans of an application.
	 * @param beanFactory the bean factory
	 * @return the observers
	 */
	public static Observers of(BeanFactory beanFactory) {
		return new Observers(beanFactory.getBeanProvider(OperationObserver.class).orderedStream().toList(),
				beanFactory.getBeanProvider(StoreObserver.class).orderedStream().toList());
	}

	/**
	 * Notify the observers of operations.
	 * @param event calls one observer
	 */
	public void operation(Consumer<OperationObserver> event) {
		notify(this.operations, event);
	}

	/**
	 * Notify the observers of stores.
	 * @param event calls one observer
	 */
	public void store(Consumer<StoreObserver> event) {
		notify(this.stores, event);
	}

	/**
	 * Notify observers of any type.
	 * @param observers the observers
	 * @param event calls one observer
	 * @param <T> the type of the observers
	 */
	@Internal
	public static <T> void notify(List<T> observers, Consumer<T> event) {
		for (T observer : observers) {
			try {
				event.accept(observer);
			}
			catch (Throwable ex) {
				logger.warn("The observer " + observer.getClass().getName()
						+ " threw an exception; the event was dropped. Fix the observer", ex);
			}
		}
	}

}
