/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.stream;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.cloud.stream.binder.BinderCustomizer;
import org.springframework.cloud.stream.binder.ExtendedConsumerProperties;
import org.springframework.cloud.stream.binder.kafka.KafkaMessageChannelBinder;
import org.springframework.cloud.stream.binder.kafka.properties.KafkaConsumerProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.ContainerProperties.AckMode;
import org.springframework.messaging.Message;
import org.springframework.messaging.support.GenericMessage;
import reactor.core.publisher.Flux;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.Idempotent;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.listener.function.FunctionProtection;
import dev.idempotency.listener.setup.ContainerProtection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

/**
 * Tests for functions that cannot be protected. They run alone, because each other
 * application that ends resets the levels of the log.
 */
@Isolated
@ExtendWith(OutputCaptureExtension.class)
class FunctionStartupTests {

	private static StreamApp app;

	private final ExtendedConsumerProperties<KafkaConsumerProperties> properties = new ExtendedConsumerProperties<>(
			new KafkaConsumerProperties());

	@BeforeAll
	static void start(CapturedOutput output) {
		app = StreamApp.start(Functions.class, StreamApp.bindings("valid"), "logging.level.dev.idempotency=WARN");
		assertThat(output).contains("@Idempotent has no effect on the functions [asynchronous, byOffset, first, "
				+ "message, messages, reactive, second, supplier]");
	}

	@AfterAll
	static void stop() {
		app.close();
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', textBlock = """
			reactive     | its type contains Flux, so that it does not process a record on the thread of the consumer
			asynchronous | its type contains CompletableFuture
			message      | it returns a Message
			messages     | it returns a Message
			supplier     | it is neither a java.util.function.Function nor a java.util.function.Consumer
			""")
	void functionOfAnotherKindIsRefused(String function, String reason) {
		assertThat(refusal(() -> app.bean(FunctionProtection.class).find(function)))
			.hasMessageStartingWith("The idempotent function " + function + " cannot be protected: " + reason);
	}

	@Test
	void comparisonOfOffsetsIsRefused() {
		FunctionProtection protection = app.bean(FunctionProtection.class);
		assertThat(refusal(() -> app.bean(ContainerProtection.class).protect(container(), protection.find("byOffset"))))
			.hasMessageContaining("it is a function of Spring Cloud Stream");
	}

	@Test
	void batchesAreRefused() {
		this.properties.setBatchMode(true);
		assertThat(refusal("test"))
			.hasMessage("The idempotent function valid cannot be protected: its binding valid-in-0 delivers batches, "
					+ "but an idempotent function receives single records.")
			.extracting(IdempotencyConfigurationException::action)
			.isEqualTo("Remove 'spring.cloud.stream.bindings.valid-in-0.consumer.batch-mode', or receive the batches "
					+ "with @KafkaListener.");
	}

	@Test
	void bindingWithoutAGroupIsRefused() {
		assertThat(refusal("anonymous.5f")).hasMessageContaining("its binding valid-in-0 has no consumer group");
	}

	@Test
	void autoCommitIsRefused() {
		this.properties.getExtension().getConfiguration().put("enable.auto.commit", "true");
		assertThat(refusal("test")).hasMessageContaining("its binding valid-in-0 commits offsets by itself");
	}

	@Test
	void manualAcknowledgmentIsRefused() {
		AbstractMessageListenerContainer<?, ?> container = container();
		container.getContainerProperties().setAckMode(AckMode.MANUAL);
		FunctionProtection protection = app.bean(FunctionProtection.class);
		assertThat(refusal(() -> app.bean(ContainerProtection.class).protect(container, protection.find("valid"))))
			.hasMessageContaining("it is a function whose binding has the ack mode MANUAL");
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', textBlock = """
			first,second   | composes it with the idempotent function second
			flux,first     | composes it with the reactive function flux
			first,flux     | composes it with the reactive function flux
			first,fluxSink | composes it with the reactive function fluxSink
			""")
	void applicationWithAFunctionThatCannotBeProtectedDoesNotStart(String composition, String reason) {
		String definition = composition.replace(',', '|');
		assertThat(refusal(() -> StreamApp.start(Functions.class, StreamApp.bindings(definition)).close()))
			.hasMessageContaining(reason);
	}

	@Test
	void customizerThatReplacesTheProtectionIsRefused() {
		assertThat(refusal(() -> StreamApp.start(Replaced.class, StreamApp.bindings("valid")).close()))
			.hasMessageContaining("has a binder whose customizers were replaced");
	}

	private IdempotencyConfigurationException refusal(String group) {
		this.properties.populateBindingName("valid-in-0");
		return refusal(() -> new BindingProtection(app.context().getBeanFactory()).protect(container(), group,
				this.properties));
	}

	private static IdempotencyConfigurationException refusal(ThrowingCallable start) {
		Throwable thrown = catchThrowable(start);
		assertThat(thrown).as("refusal").isNotNull();
		Throwable cause = NestedExceptionUtils.getMostSpecificCause(thrown);
		assertThat(cause).isInstanceOf(IdempotencyConfigurationException.class);
		return (IdempotencyConfigurationException) cause;
	}

	private static AbstractMessageListenerContainer<?, ?> container() {
		ContainerProperties properties = new ContainerProperties("valid");
		properties.setGroupId("test");
		return new ConcurrentMessageListenerContainer<>(new DefaultKafkaConsumerFactory<>(Map.of()), properties);
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Functions {

		@Bean
		@Idempotent
		Consumer<String> valid() {
			return (text) -> {
			};
		}

		@Bean
		@Idempotent
		Consumer<Flux<String>> reactive() {
			return Flux::subscribe;
		}

		@Bean
		@Idempotent
		Function<String, CompletableFuture<String>> asynchronous() {
			return CompletableFuture::completedFuture;
		}

		@Bean
		@Idempotent
		Function<Message<String>, Message<String>> message() {
			return (message) -> message;
		}

		@Bean
		@Idempotent
		Function<String, List<Message<String>>> messages() {
			return (text) -> List.of(new GenericMessage<>(text));
		}

		@Bean
		Function<Flux<String>, Flux<String>> flux() {
			return (texts) -> texts;
		}

		@Bean
		Consumer<Flux<String>> fluxSink() {
			return Flux::subscribe;
		}

		@Bean
		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET)
		Consumer<String> byOffset() {
			return valid();
		}

		@Bean
		@Idempotent
		Function<String, String> first() {
			return (text) -> text;
		}

		@Bean
		@Idempotent
		Function<String, String> second() {
			return (text) -> text;
		}

		@Bean
		@Idempotent
		Supplier<String> supplier() {
			return () -> "";
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Replaced extends Functions {

		@Bean
		BinderCustomizer binderCustomizer() {
			return (binder, name) -> ((KafkaMessageChannelBinder) binder)
				.setContainerCustomizer((container, destination, group) -> {
				});
		}

	}

}
