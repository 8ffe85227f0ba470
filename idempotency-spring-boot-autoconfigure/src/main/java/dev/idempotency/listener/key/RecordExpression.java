/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.key;

import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.expression.EvaluationContext;
import org.springframework.expression.EvaluationException;
import org.springframework.expression.ParseException;
import org.springframework.expression.spel.ExpressionState;
import org.springframework.expression.spel.SpelEvaluationException;
import org.springframework.expression.spel.SpelNode;
import org.springframework.expression.spel.ast.BeanReference;
import org.springframework.expression.spel.ast.CompoundExpression;
import org.springframework.expression.spel.ast.ConstructorReference;
import org.springframework.expression.spel.ast.Indexer;
import org.springframework.expression.spel.ast.Literal;
import org.springframework.expression.spel.ast.MethodReference;
import org.springframework.expression.spel.ast.OpPlus;
import org.springframework.expression.spel.ast.TypeReference;
import org.springframework.expression.spel.ast.VariableReference;
import org.springframework.expression.spel.standard.SpelExpression;
import org.springframework.expression.spel.standard.SpelExpressionParser;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * An expression of the annotation. It is parsed once and evaluated for each record.
 *
 * @param expression the expression
 * @param variables the names of its variables
 * @param parts the operands of "a + b" in a key. SpEL would add two numbers, so that 1 +
 * 23 and 2 + 22 were one key, and would join a null operand as the text "null"
 */
record RecordExpression(SpelExpression expression, Set<String> variables, List<SpelNode> parts) {

	private static final Log logger = LogFactory.getLog(RecordExpression.class);

	private static final SpelExpressionParser PARSER = new SpelExpressionParser();

	static final Set<String> VARIABLES = Set.of("record", "payload", "headers");

	static RecordExpression parse(String text, String attribute, String listener, ListenerParameters parameters) {
		try {
			if (text.startsWith("#{")) {
				throw new IdempotencyConfigurationException(
						"The " + attribute + " expression '" + text + "' of @Idempotent on " + listener
								+ " begins with '#{', as an expression of @Value does.",
						"Write the expression alone: " + text.replaceAll("^#\\{\\s*|\\s*}$", "") + ".");
			}
			SpelExpression expression = PARSER.parseRaw(text);
			Set<String> variables = nodes(expression.getAST()).filter(VariableReference.class::isInstance)
				.map((variable) -> variable.toStringAST().substring(1))
				.filter((name) -> !name.equals("this") && !name.equals("root"))
				.collect(Collectors.toSet());
			List<SpelNode> parts = attribute.equals("key") ? parts(expression.getAST()).toList() : List.of();
			Set<String> unknown = new TreeSet<>(variables);
			unknown.removeAll(VARIABLES);
			unknown.removeAll(parameters.names());
			IdempotencyConfigurationException.check(parts.stream().noneMatch(RecordExpression::hasSum),
					"The key expression '" + text + "' of @Idempotent on " + listener + " has a sum inside another "
							+ "operation, where a part that is null would become the text 'null' of the key.",
					"Put the sum at the top: #payload.a.toLowerCase() + ':' + #payload.b.");
			if (attribute.equals("key") && variables.isEmpty() && !mayVary(expression)) {
				throw withoutVariable(expression, listener);
			}
			if (unknown.isEmpty()) {
				return new RecordExpression(expression, variables, parts);
			}
			throw new IdempotencyConfigurationException(
					"The " + attribute + " expression '" + text + "' of @Idempotent on " + listener
							+ " uses unknown variables: " + unknown + ".",
					"Use #record, #payload, #headers or a parameter " + parameters.names()
							+ "; compile with -parameters if the names of the parameters are missing.");
		}
		catch (ParseException | IllegalStateException ex) {
			throw new IdempotencyConfigurationException("The " + attribute + " expression '" + text
					+ "' of @Idempotent on " + listener + " cannot be parsed: " + ex.getMessage() + ".",
					"Correct the expression.");
		}
	}

	private static IdempotencyConfigurationException withoutVariable(SpelExpression expression, String listener) {
		String text = expression.getExpressionString();
		String quoted = text.replaceAll("^'(.*)'$", "$1");
		String corrected = quoted.startsWith("#") ? "Remove the quotes: " + quoted : "Begin with a variable: #"
				+ (quoted.matches("(payload|record|headers)\\b.*") ? quoted : "payload.id");
		return new IdempotencyConfigurationException("The key expression '" + text + "' of @Idempotent on " + listener
				+ " uses no variable, so all records would have the same key, and only the first one would be processed.",
				corrected + ".");
	}

	// Code of the application may read what belongs to the thread, such as the MDC.
	// A bean, #root and #this are mistakes of other kinds.
	private static boolean mayVary(SpelExpression expression) {
		return nodes(expression.getAST()).anyMatch((node) -> node instanceof ConstructorReference
				|| node instanceof BeanReference || node instanceof VariableReference
				|| (node instanceof CompoundExpression && node.getChild(0) instanceof TypeReference
						&& DeclaredTypes.children(node).anyMatch(MethodReference.class::isInstance)));
	}

	private static Stream<SpelNode> nodes(SpelNode node) {
		return Stream.concat(Stream.of(node), DeclaredTypes.children(node).flatMap(RecordExpression::nodes));
	}

	private static Stream<SpelNode> parts(SpelNode node) {
		return (node instanceof OpPlus) ? DeclaredTypes.children(node).flatMap(RecordExpression::parts)
				: Stream.of(node);
	}

	// A sum inside the brackets of an index is a number and not a part of the key.
	private static boolean hasSum(SpelNode node) {
		return node instanceof OpPlus
				|| (!(node instanceof Indexer) && DeclaredTypes.children(node).anyMatch(RecordExpression::hasSum));
	}

	@Nullable Object evaluate(RecordContext context) {
		try {
			EvaluationContext evaluation = context.evaluation();
			return (this.parts.size() > 1) ? join(new ExpressionState(evaluation))
					: this.expression.getValue(evaluation);
		}
		catch (UnusableKeyException ex) {
			throw ex;
		}
		catch (Exception | StackOverflowError | LinkageError | AssertionError ex) {
			// An error that a content causes would stop the container with each delivery.
			// The message of an exception that a called method throws may quote the
			// payload, so the failure names its type only.
			EvaluationException failure = new EvaluationException(toString(),
					(ex instanceof SpelEvaluationException spel) ? spel.getMessageCode().name()
							: ex.getClass().getName());
			failure.setStackTrace(ex.getStackTrace());
			throw failure;
		}
	}

	private @Nullable String join(ExpressionState state) {
		StringBuilder text = new StringBuilder();
		for (SpelNode part : this.parts) {
			Object value = part.getValue(state);
			if (value == null) {
				return null;
			}
			text.append(text(value));
		}
		return text.toString();
	}

	String text(Object value) {
		if (DeclaredTypes.isText(value.getClass())) {
			return value.toString();
		}
		throw new UnusableKeyException("the expression '" + this + "' yields a " + value.getClass().getName()
				+ ", which is not a text, number, date or UUID", null);
	}

	void check(DeclaredTypes types, String attribute, String listener) {
		String subject = "The " + attribute + " expression '" + this + "' of @Idempotent on " + listener;
		types.check(this.expression.getAST(), subject);
		this.parts.forEach((part) -> types.checkText(part, subject));
		if (attribute.equals("version")) {
			types.checkVersion(this.expression.getAST(), subject);
		}
		for (int i = 1; i < this.parts.size(); i++) {
			if (!(this.parts.get(i - 1) instanceof Literal) && !(this.parts.get(i) instanceof Literal)) {
				logger.warn("The key expression '" + this + "' of @Idempotent on " + listener
						+ " joins parts without a separator, so that '1' and '23' give the same key as '12' and '3'. Put "
						+ "a separator between the parts, like #a + ':' + #b, unless their lengths are fixed");
				return;
			}
		}
	}

	@Override
	public String toString() {
		return this.expression.getExpressionString();
	}

}
