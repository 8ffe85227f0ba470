package dev.idempotency.redis;

import java.util.concurrent.CompletableFuture;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import dev.idempotency.test.FailingThreads;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link Opening}.
 */
@Tag("promise-11")
class OpeningTests {

	@Test
	void connectionIsOpenedAgainWhenAThreadCouldNotStart() {
		Opening<String> opening = new Opening<>(() -> "open", new FailingThreads(1));
		CompletableFuture<String> first = opening.get(null);
		assertThat(first).isCompletedExceptionally();
		assertThat(opening.getNow()).isNull();
		assertThat(opening.get(null).join()).isEqualTo("open");
		assertThat(opening.getNow()).isEqualTo("open");
	}

}
