package dev.idempotency.autoconfigure;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

import io.micrometer.core.instrument.MeterRegistry;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.EventListener;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.Mode;
import dev.idempotency.memory.InMemoryIdempotencyStore;
import dev.idempotency.store.Settlement;
import dev.idempotency.template.CompletionFailedEvent;
import dev.idempotency.template.CompletionSettledEvent;
import dev.idempotency.template.IdempotencyListener.StoreCall;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.ResultCodec;
import dev.idempotency.test.Contexts;
import dev.idempotency.test.TestDatabase;
import dev.idempotency.test.UnreliableStore;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link IdempotencyEventsAutoConfiguration}.
 */
class CompletionEventsTests {

	private static final IdempotencyKey KEY = TestDatabase.newKey();

	@Test
	@Tag("promise-6")
	void completionThatFailsAndIsSettledIsPublishedAndCounted() {
		Contexts.all().withUserConfiguration(Beans.class).run((context) -> {
			UnreliableStore store = context.getBean(UnreliableStore.class);
			IdempotencyTemplate template = context.getBean(IdempotencyTemplate.class);
			List<Object> events = context.getBean(Beans.class).events;
			store.fail(StoreCall.COMPLETE);
			assertThatExceptionOfType(IdempotencyStoreUnavailableException.class).isThrownBy(
					() -> template.execute(TestDatabase.operation(KEY, Mode.LEASED), ResultCodec.none(), () -> null));
			assertThat(events).containsExactly(new CompletionFailedEvent("payments", KEY));
			store.recover();
			template.settle();
			assertThat(events).containsExactly(new CompletionFailedEvent("payments", KEY),
					new CompletionSettledEvent("payments", KEY, Settlement.SETTLED));
			assertThat(context.getBean(MeterRegistry.class)
				.get("idempotency.completion.failed")
				.tag("listener", "payments")
				.counter()
				.count()).isOne();
		});
	}

	@Configuration(proxyBeanMethods = false)
	static class Beans {

		private final List<Object> events = new CopyOnWriteArrayList<>();

		@Bean
		UnreliableStore unreliableStore() {
			return new UnreliableStore(new InMemoryIdempotencyStore());
		}

		@EventListener({ CompletionFailedEvent.class, CompletionSettledEvent.class })
		void on(Object event) {
			this.events.add(event);
		}

	}

}
