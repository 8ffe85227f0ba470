/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.net.URI;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;

/**
 * The client of an application that uses DynamoDB.
 */
@Configuration(proxyBeanMethods = false)
@ConditionalOnProperty(DynamoDbClients.ENDPOINT)
public class DynamoDbClients {

	public static final String ENDPOINT = "test.dynamodb.endpoint";

	@Bean
	static DynamoDbClient dynamoDbClient(@Value("${" + ENDPOINT + "}") URI endpoint) {
		return DynamoDbServer.client(endpoint).build();
	}

}
