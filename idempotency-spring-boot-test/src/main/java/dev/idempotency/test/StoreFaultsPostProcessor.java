package dev.idempotency.test;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanPostProcessor;

import dev.idempotency.store.IdempotencyStore;

/**
 * Lets {@link StoreFaults} intercept the calls of each store of the context.
 */
final class StoreFaultsPostProcessor implements BeanPostProcessor {

	private final ObjectProvider<StoreFaults> faults;

	StoreFaultsPostProcessor(ObjectProvider<StoreFaults> faults) {
		this.faults = faults;
	}

	@Override
	public Object postProcessAfterInitialization(Object bean, String beanName) {
		return (bean instanceof IdempotencyStore store) ? this.faults.getObject().intercept(store) : bean;
	}

}
