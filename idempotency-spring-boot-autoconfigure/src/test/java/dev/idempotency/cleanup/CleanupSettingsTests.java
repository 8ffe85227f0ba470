package dev.idempotency.cleanup;

import java.time.Duration;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import dev.idempotency.IdempotencyConfigurationException;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link CleanupSettings}.
 */
@Tag("promise-12")
class CleanupSettingsTests {

	@ParameterizedTest
	@CsvSource(delimiter = '|', textBlock = """
			PT0S | PT1M | 1 | PT0S  | has the interval PT0S.                  | idempotency.cleanup.interval
			PT1M | PT0S | 1 | PT0S  | may take PT0S.                          | idempotency.cleanup.time-budget
			PT1M | PT1M | 0 | PT0S  | may delete 0 records.                   | idempotency.cleanup.batch-size
			PT1M | PT1M | 1 | PT-1S | pauses for PT-1S in a run of at most PT1M. | idempotency.cleanup.pause
			PT1M | PT1S | 1 | PT1S  | pauses for PT1S in a run of at most PT1S.  | idempotency.cleanup.pause
			""")
	void mistakeIsASentenceWithAnAction(Duration interval, Duration timeBudget, int batchSize, Duration pause,
			String message, String property) {
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> new CleanupSettings(interval, timeBudget, batchSize, pause))
			.withMessageEndingWith(message)
			.satisfies((ex) -> assertThat(ex.action()).contains("'" + property + "'"));
	}

}
