/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm.pairs;

import java.lang.annotation.Annotation;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import net.bytebuddy.ByteBuddy;
import net.bytebuddy.description.annotation.AnnotationDescription;
import net.bytebuddy.description.modifier.Visibility;
import net.bytebuddy.description.type.TypeDescription.Generic;
import net.bytebuddy.dynamic.loading.ClassLoadingStrategy;
import net.bytebuddy.implementation.MethodCall;
import net.bytebuddy.implementation.bytecode.assign.Assigner;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.annotation.KafkaHandler;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.messaging.handler.annotation.SendTo;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

import dev.idempotency.Idempotent;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.MissingKeyPolicy;

/**
 * The listener of a trial. Its method, which a generated subclass declares, has the
 * parameters, the result and the annotations of the combination.
 */
class PairListener {

	static final String METHOD = "handle";

	private static final Generic RECORD = type(ConsumerRecord.class, String.class, String.class);

	private static final List<String> PLACEHOLDERS = List.of("key", "version", "fingerprint");

	private final Work work;

	PairListener(Work work) {
		this.work = work;
	}

	/**
	 * Generate the class of the listener.
	 * @param combination the combination
	 * @param name the name of the class, which is unique
	 * @param plain whether it is not idempotent
	 * @return the class
	 */
	static Class<?> generate(Combination combination, String name, boolean plain) {
		try {
			List<Generic> parameters = new ArrayList<>();
			parameters.add(
					combination.batch() ? Generic.Builder.parameterizedType(List.class, recordType()).build() : RECORD);
			if (combination.acknowledges()) {
				parameters.add(Generic.Builder.of(Acknowledgment.class).build());
			}
			MethodCall call = MethodCall
				.invoke(PairListener.class.getDeclaredMethod("listen", Object.class, Acknowledgment.class))
				.withArgument(0);
			call = combination.acknowledges() ? call.withArgument(1) : call.with((Object) null);
			return new ByteBuddy().subclass(PairListener.class)
				.name(PairListener.class.getName() + "$" + name)
				.annotateType(combination.classLevel() ? List.of(kafkaListener(combination)) : List.of())
				.defineMethod(METHOD, result(combination), Visibility.PUBLIC)
				.withParameters(parameters)
				.intercept(call.withAssigner(Assigner.DEFAULT, Assigner.Typing.DYNAMIC))
				.annotateMethod(annotations(combination, plain))
				.make()
				.load(PairListener.class.getClassLoader(), ClassLoadingStrategy.UsingLookup.of(MethodHandles.lookup()))
				.getLoaded();
		}
		catch (NoSuchMethodException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private static Type recordType() throws NoSuchMethodException {
		return Work.class.getDeclaredMethod("apply", ConsumerRecord.class, IdempotentExecution.class)
			.getGenericParameterTypes()[0];
	}

	private static Generic type(Class<?> raw, Type... parameters) {
		return Generic.Builder.parameterizedType(raw, parameters).build();
	}

	private static Generic result(Combination combination) {
		Class<?> element = combination.replies() ? String.class : Void.class;
		return switch (combination.levels().get(Factor.SHAPE)) {
			case "future" -> type(CompletableFuture.class, element);
			case "Mono" -> type(Mono.class, element);
			case "record", "class-level" ->
				Generic.Builder.of(combination.replies() ? String.class : void.class).build();
			default -> combination.replies() ? type(List.class, String.class) : Generic.Builder.of(void.class).build();
		};
	}

	private static List<AnnotationDescription> annotations(Combination combination, boolean plain) {
		List<AnnotationDescription> all = new ArrayList<>();
		all.add(combination.classLevel() ? annotation(KafkaHandler.class).define("isDefault", true).build()
				: kafkaListener(combination));
		if (combination.replies()) {
			all.add(annotation(SendTo.class).defineArray("value", "${pair.topic}-replies").build());
		}
		if (combination.ownTransaction()) {
			all.add(annotation(Transactional.class)
				.define("propagation", combination.is(Factor.TRANSACTION, "REQUIRES_NEW") ? Propagation.REQUIRES_NEW
						: Propagation.REQUIRED)
				.build());
		}
		if (!plain) {
			AnnotationDescription.Builder idempotent = annotation(Idempotent.class);
			for (String attribute : PLACEHOLDERS) {
				idempotent = idempotent.define(attribute, "${pair." + attribute + "}");
			}
			MissingKeyPolicy policy = combination.is(Factor.KEY, "offset") ? MissingKeyPolicy.OFFSET
					: combination.is(Factor.KEY, "coordinates") ? MissingKeyPolicy.RECORD_COORDINATES
							: MissingKeyPolicy.DEFAULT;
			all.add(idempotent.define("onMissingKey", policy).build());
		}
		return all;
	}

	private static AnnotationDescription kafkaListener(Combination combination) {
		return annotation(KafkaListener.class).define("id", "${pair.topic}")
			.defineArray("topics", "${pair.topic}")
			.define("batch", String.valueOf(combination.batch()))
			.build();
	}

	private static AnnotationDescription.Builder annotation(Class<? extends Annotation> type) {
		return AnnotationDescription.Builder.ofType(type);
	}

	/**
	 * Process what the container delivers.
	 * @param delivered a record or a batch
	 * @param acknowledgment the acknowledgment, if the method has one
	 * @return the result
	 */
	@SuppressWarnings("unchecked")
	@Nullable Object listen(Object delivered, @Nullable Acknowledgment acknowledgment) {
		Combination combination = this.work.combination();
		Object result;
		if (combination.batch()) {
			List<?> results = this.work.applyAll((List<ConsumerRecord<String, String>>) delivered,
					IdempotentExecution.Holder.current());
			result = combination.replies() ? results : null;
		}
		else {
			result = listen((ConsumerRecord<String, String>) delivered, combination);
		}
		if (acknowledgment != null) {
			acknowledgment.acknowledge();
		}
		return result;
	}

	private @Nullable Object listen(ConsumerRecord<String, String> record, Combination combination) {
		IdempotentExecution execution = IdempotentExecution.ifCurrent();
		if (combination.single()) {
			return this.work.apply(record, execution);
		}
		if (combination.is(Factor.SHAPE, "Mono")) {
			return Mono.fromCallable(() -> this.work.apply(record, execution)).subscribeOn(Schedulers.boundedElastic());
		}
		if (combination.ownTransaction()) {
			String result = this.work.apply(record, execution);
			return CompletableFuture.supplyAsync(() -> result);
		}
		return CompletableFuture.supplyAsync(() -> this.work.apply(record, execution));
	}

}
