/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.key;

import java.lang.reflect.Method;
import java.util.AbstractMap.SimpleEntry;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.messaging.Message;
import org.springframework.messaging.handler.annotation.Header;

import dev.idempotency.IdempotencyConfigurationException;

import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNoException;

/**
 * Tests for {@link DeclaredTypes}: an expression is refused if the declared types prove
 * that a member does not exist.
 */
@Tag("promise-12")
@Tag("promise-15")
class DeclaredTypesTests {

	@ParameterizedTest
	@CsvSource(delimiter = '|', quoteCharacter = '"', textBlock = """
			payment | #payload.paymentIdd                       | the property 'paymentIdd'
			payment | #payload.customer.nam                     | the property 'nam'
			payment | #payload.customer?.nam                    | the property 'nam'
			payment | #payment.paymentIdd                       | the property 'paymentIdd'
			payment | #payload.id() + ':' + #payload.idd()      | the method 'idd' with 0 arguments
			payment | #payload.id.substring(0, 1, 2)            | the method 'substring' with 3 arguments
			payment | #payload.lines[0].skuu                    | the property 'skuu'
			payment | #payload.totals['a'].foo                  | the property 'foo'
			payment | #payload.tags[0].foo                      | the property 'foo'
			payment | #tenant.lenght                            | the property 'lenght'
			payment | #headers['x'].foo                         | the property 'foo'
			payment | #record.ofset()                           | the method 'ofset' with 0 arguments
			payment | #payload.id == null ? #payload.idd : '1'  | the property 'idd'
			payment | T(java.util.UUID).fromString(#payload.idd) | the property 'idd'
			payment | payload.id                                | names 'payload' without a variable
			payment | hashCode()                                | calls 'hashCode' without a variable
			payment | id == '1'                                 | names 'id' without a variable
			payment | 'text'.foo                                | the property 'foo'
			record  | #payload.paymentIdd                       | the property 'paymentIdd'
			record  | #record.value().paymentIdd                | the property 'paymentIdd'
			message | #payload.paymentIdd                       | the property 'paymentIdd'
			message | #message.payload.paymentIdd               | the property 'paymentIdd'
			bean    | #payload.nam                              | the property 'nam'
			bean    | #payload.value.idd                      | the property 'idd'
			batch   | #payload.paymentIdd                       | the property 'paymentIdd'
			batch   | #payments.size()                          | the method 'size' with 0 arguments
			records | #payload.paymentIdd                       | the property 'paymentIdd'
			typed   | #payload.paymentIdd                       | the property 'paymentIdd'
			payment | @keys.of(#payload)                        | the bean '@keys'
			payment | #payload.lines.![@keys.of(sku)]           | the bean '@keys'
			payment | #root.id                                  | '#root', which is always null
			payment | #payload.lines.![#root.id]                | '#root', which is always null
			payment | #this.id                                  | '#this' outside a projection or selection
			payment | #payload.totals.a                         | the property 'a' of a map: write ['a']
			payment | #headers.x                                | the property 'x' of a map: write ['x']
			map     | #payload.anything                         | the property 'anything' of a map: write ['anything']
			""")
	void expressionWithUnknownMemberIsRefused(String method, String expression, String problem) {
		assertThatExceptionOfType(IdempotencyConfigurationException.class).isThrownBy(() -> check(method, expression))
			.withMessageContaining("The condition expression '" + expression + "' of @Idempotent on X.listen ")
			.withMessageContaining(problem);
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', quoteCharacter = '"', textBlock = """
			payment | #payload.id
			payment | #payload.id()
			payment | #payload.getClass().name
			payment | #payload.customer.name.length()
			payment | #payload.lines[0].sku + #payload.lines.![sku] + #payload.lines.?[sku == 'x']
			payment | #payload.tags.length + #payload.tags[0].bytes.length
			payment | #payload.totals['a'].intValue()
			payment | #payload.totals[a]
			payment | #payload.maybe.foo
			payment | #payload.any.foo
			payment | {a: 1}
			payment | new java.math.BigDecimal(#payload.id)
			payment | T(java.util.UUID).fromString(#payload.id).toString()
			payment | #record.topic() + #record.value().foo + #record.value.foo
			payment | #headers['x'].trim()
			payment | #payload.id.format('%s %s', #tenant, 1, 2)
			payment | #payload.kind.name()
			payment | #payload.id.formatted()
			record  | #payload.id + #record.value().id + #record.offset
			message | #payload.id + #message.headers.id
			bean    | #payload.key + #payload.value.id
			batch   | #payload.id + #payments.id
			records | #payload.id + #records.offset()
			typed   | #payload.id
			open    | #payload.anything.at.all()
			raw     | #payload.anything
			map     | #payload['x'].foo + #payload.empty + #headers.class.name
			payment | #payload.lines.?[#this.sku == 'x'][0].sku
			text    | #payload.length() + #payload.isEmpty()
			""")
	void expressionWithUncheckableMemberIsAccepted(String method, String expression) {
		assertThatNoException().isThrownBy(() -> check(method, expression));
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', quoteCharacter = '"', textBlock = """
			payment | #payload                      | dev.idempotency.listener.key.DeclaredTypesTests$Payment
			payment | #payload.lines                | java.util.List
			payment | #payload.totals               | java.util.Map
			payment | #payload.tags                 | java.lang.String[]
			payment | #payload.id.bytes             | byte[]
			payment | #payload.id + ':' + #payload.customer | dev.idempotency.listener.key.DeclaredTypesTests$Customer
			payment | #payload.maybe                | java.util.Optional
			payment | #payload.lines.![sku]         | java.util.List
			payment | {#payload.id}                 | java.util.List
			payment | {id: #payload.id}             | java.util.Map
			payment | #record                       | org.apache.kafka.clients.consumer.ConsumerRecord
			""")
	void keyThatIsNeverTextIsRefused(String method, String key, String type) {
		assertThatExceptionOfType(IdempotencyConfigurationException.class).isThrownBy(() -> check(method, key, "key"))
			.withMessageContaining("yields a " + type + ", which is not a text, number, date or UUID");
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', quoteCharacter = '"', textBlock = """
			payment | #payload.id + ':' + #record.offset()
			payment | #payload.any
			payment | #payload.kind
			payment | #payload.kind.name()
			payment | #payload.totals['a']
			payment | #payload.tags[0]
			payment | #payload.lines[0].sku
			payment | #payload.maybe?.name
			payment | #payload.maybe ?: 'none'
			payment | #headers['x']
			payment | #tenant
			payment | #payload.id.length() > 1
			payment | T(java.util.UUID).nameUUIDFromBytes(#payload.id.bytes)
			message | #message.payload.id
			bean    | #payload.key
			text    | #payload
			text    | #payload.length()
			open    | #payload
			raw     | #payload
			raw     | #record.key()
			""")
	void keyThatMayBeTextIsAccepted(String method, String key) {
		assertThatNoException().isThrownBy(() -> check(method, key, "key"));
	}

	private static void check(String name, String expression) {
		check(name, expression, "condition");
	}

	private static void check(String name, String expression, String attribute) {
		Method method = Stream
			.concat(Stream.of(Listeners.class.getDeclaredMethods()), Stream.of(Typed.class.getMethods()))
			.filter((candidate) -> candidate.getName().equals(name))
			.findFirst()
			.orElseThrow();
		ListenerParameters parameters = ListenerParameters.of(method);
		boolean batch = name.equals("batch") || name.equals("records");
		RecordExpression parsed = RecordExpression.parse(expression, attribute, "X.listen", parameters);
		parsed.check(new DeclaredTypes(method, Listeners.class, parameters, batch), attribute, "X.listen");
	}

	record Payment(String id, Customer customer, List<Line> lines, Map<String, Integer> totals, String[] tags,
			Optional<Customer> maybe, Object any, Kind kind) {
	}

	record Customer(String name) {
	}

	record Line(String sku) {
	}

	enum Kind {

		DEBIT

	}

	interface Open {

	}

	interface Typed<T> {

		default void typed(T value) {
		}

	}

	static class Listeners implements Typed<Payment> {

		void payment(Payment payment, @Header("tenant") String tenant) {
		}

		void record(ConsumerRecord<String, Payment> record) {
		}

		void message(Message<Payment> message) {
		}

		void bean(SimpleEntry<String, Payment> entry) {
		}

		void batch(List<Payment> payments) {
		}

		void records(List<ConsumerRecord<String, Payment>> records) {
		}

		// Inherits its methods from a class that is not public.
		void text(StringBuilder payload) {
		}

		void open(Open payload) {
		}

		void raw(ConsumerRecord<?, ?> record) {
		}

		void map(Map<String, Object> payload) {
		}

	}

}
