package dev.idempotency.sample.summary;

import java.util.List;

import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.stereotype.Component;

import dev.idempotency.template.IdempotencyTemplate;

/**
 * Lists the default store and the stores of {@code idempotency.stores}.
 */
@Component
class StoresInUse {

	private final ListableBeanFactory beanFactory;

	StoresInUse(ListableBeanFactory beanFactory) {
		this.beanFactory = beanFactory;
	}

	// Injection would yield the template of the default store only.
	List<StoreInUse> read() {
		return this.beanFactory.getBeansOfType(IdempotencyTemplate.class)
			.values()
			.stream()
			.map((template) -> new StoreInUse(template.name(), template.store().name(),
					template.supportsTransactions()))
			.toList();
	}

}
