package dev.idempotency.listener.key;

import java.nio.charset.StandardCharsets;

import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link TextHeaders}.
 */
@Tag("promise-10")
class TextHeadersTests {

	private final Headers headers = new RecordHeaders();

	@Test
	void headerIsReadAsUtf8() {
		this.headers.add("key", "ключ".getBytes(StandardCharsets.UTF_8));
		assertThat(text()).isEqualTo("ключ");
	}

	@Test
	void missingHeaderHasNoText() {
		assertThat(text()).isNull();
	}

	@Test
	void headerWithoutValueHasNoText() {
		this.headers.add("key", null);
		assertThat(text()).isNull();
	}

	@Test
	void bytesThatAreNotUtf8AreUnusable() {
		this.headers.add("key", new byte[] { (byte) 0xC3, (byte) 0x28 });
		assertThatExceptionOfType(UnusableKeyException.class).isThrownBy(this::text)
			.withMessage("the header 'key' is not UTF-8 text");
	}

	@Test
	void replacementCharacterThatTheProducerSentIsText() {
		this.headers.add("key", "a\uFFFD".getBytes(StandardCharsets.UTF_8));
		assertThat(text()).isEqualTo("a\uFFFD");
	}

	@Test
	void headerThatIsRepeatedWithTheSameValueIsThatValue() {
		this.headers.add("key", "a".getBytes(StandardCharsets.UTF_8)).add("key", "a".getBytes(StandardCharsets.UTF_8));
		assertThat(text()).isEqualTo("a");
	}

	@Test
	void headerThatIsRepeatedWithAnotherValueIsUnusable() {
		this.headers.add("key", "a".getBytes(StandardCharsets.UTF_8)).add("key", "b".getBytes(StandardCharsets.UTF_8));
		assertThatExceptionOfType(UnusableKeyException.class).isThrownBy(this::text)
			.withMessage("the header 'key' is repeated with different values");
	}

	@Test
	void mapLeavesOutHeadersWithoutValue() {
		this.headers.add("key", "a".getBytes(StandardCharsets.UTF_8)).add("empty", null);
		assertThat(TextHeaders.asMap(this.headers)).containsOnlyKeys("key");
	}

	private String text() {
		return TextHeaders.text(this.headers, "key");
	}

}
