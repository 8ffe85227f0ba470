/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.applications;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.Table;
import org.springframework.boot.persistence.autoconfigure.EntityScan;
import org.springframework.context.annotation.Import;
import org.springframework.dao.DataIntegrityViolationException;
import org.springframework.data.domain.Persistable;
import org.springframework.data.jpa.repository.JpaRepository;
import org.springframework.data.jpa.repository.Modifying;
import org.springframework.data.jpa.repository.NativeQuery;
import org.springframework.data.jpa.repository.config.EnableJpaRepositories;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;

/**
 * The listeners of {@link CatchingApplication} with Spring Data JPA.
 */
@EntityScan(basePackageClasses = JpaCatchingApplication.class)
@EnableJpaRepositories(considerNestedRepositories = true)
@Import({ JpaCatchingApplication.SavingListener.class, JpaCatchingApplication.LeasedListener.class,
		JpaCatchingApplication.Saving.class, JpaCatchingApplication.NestedListener.class,
		JpaCatchingApplication.NestedSaving.class, JpaCatchingApplication.InsideListener.class,
		JpaCatchingApplication.CatchingInside.class, JpaCatchingApplication.NativeListener.class,
		JpaCatchingApplication.NativeInsert.class })
class JpaCatchingApplication {

	/**
	 * Always new, so that it is inserted without a query for its id.
	 */
	@Entity
	@Table(name = "processed_message")
	static class ProcessedMessage implements Persistable<String> {

		@Id
		private String id;

		ProcessedMessage() {
		}

		ProcessedMessage(String id) {
			this.id = id;
		}

		@Override
		public String getId() {
			return this.id;
		}

		@Override
		public boolean isNew() {
			return true;
		}

	}

	interface ProcessedMessages extends JpaRepository<ProcessedMessage, String> {

		// docs/migrating.md
		@Modifying
		@NativeQuery("INSERT INTO processed_message VALUES (:id) ON CONFLICT DO NOTHING")
		int insert(String id);

	}

	static class SavingListener {

		private final Saving payments;

		SavingListener(Saving payments) {
			this.payments = payments;
		}

		@KafkaListener(topics = "${prefix}-saving", groupId = "${prefix}-saving")
		@Idempotent(key = "#payload")
		void handle(String order, @Header("message-id") String messageId) {
			try {
				this.payments.pay(messageId, order);
			}
			catch (DataIntegrityViolationException ex) {
				// The message has been processed.
			}
		}

	}

	static class LeasedListener {

		private final Saving payments;

		LeasedListener(Saving payments) {
			this.payments = payments;
		}

		@KafkaListener(topics = "${prefix}-leased", groupId = "${prefix}-leased")
		@Idempotent(key = "#payload", mode = Mode.LEASED)
		void handle(String order, @Header("message-id") String messageId) {
			try {
				this.payments.pay(messageId, order);
			}
			catch (DataIntegrityViolationException ex) {
				// The message has been processed.
			}
		}

	}

	static class Saving {

		private final ProcessedMessages messages;

		private final Effects effects;

		Saving(ProcessedMessages messages, Effects effects) {
			this.messages = messages;
			this.effects = effects;
		}

		@Transactional
		void pay(String messageId, String order) {
			this.messages.saveAndFlush(new ProcessedMessage(messageId));
			this.effects.add(order, "paid");
		}

	}

	static class NestedListener {

		private final NestedSaving payments;

		NestedListener(NestedSaving payments) {
			this.payments = payments;
		}

		@KafkaListener(topics = "${prefix}-nested", groupId = "${prefix}-nested")
		@Idempotent(key = "#payload")
		void handle(String order, @Header("message-id") String messageId) {
			try {
				this.payments.pay(messageId, order);
			}
			catch (DataIntegrityViolationException ex) {
				// The message has been processed.
			}
		}

	}

	static class NestedSaving {

		private final ProcessedMessages messages;

		private final Effects effects;

		NestedSaving(ProcessedMessages messages, Effects effects) {
			this.messages = messages;
			this.effects = effects;
		}

		@Transactional(propagation = Propagation.NESTED)
		void pay(String messageId, String order) {
			this.messages.saveAndFlush(new ProcessedMessage(messageId));
			this.effects.add(order, "paid");
		}

	}

	static class InsideListener {

		private final CatchingInside payments;

		InsideListener(CatchingInside payments) {
			this.payments = payments;
		}

		@KafkaListener(topics = "${prefix}-inside", groupId = "${prefix}-inside")
		@Idempotent(key = "#payload")
		void handle(String order, @Header("message-id") String messageId) {
			this.payments.pay(messageId, order);
		}

	}

	static class CatchingInside {

		private final ProcessedMessages messages;

		private final Effects effects;

		CatchingInside(ProcessedMessages messages, Effects effects) {
			this.messages = messages;
			this.effects = effects;
		}

		@Transactional
		void pay(String messageId, String order) {
			try {
				this.messages.saveAndFlush(new ProcessedMessage(messageId));
				this.effects.add(order, "paid");
			}
			catch (DataIntegrityViolationException ex) {
				// The message has been processed.
			}
		}

	}

	static class NativeListener {

		private final NativeInsert payments;

		NativeListener(NativeInsert payments) {
			this.payments = payments;
		}

		@KafkaListener(topics = "${prefix}-native", groupId = "${prefix}-native")
		@Idempotent(key = "#payload")
		void handle(String order, @Header("message-id") String messageId) {
			this.payments.pay(messageId, order);
		}

	}

	static class NativeInsert {

		private final ProcessedMessages messages;

		private final Effects effects;

		NativeInsert(ProcessedMessages messages, Effects effects) {
			this.messages = messages;
			this.effects = effects;
		}

		@Transactional
		void pay(String messageId, String order) {
			if (this.messages.insert(messageId) == 0) {
				return;
			}
			this.effects.add(order, "paid");
		}

	}

}
