/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.net.URI;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;

/**
 * The client of DynamoDB that both listeners share.
 */
@Configuration(proxyBeanMethods = false)
class DynamoDbConfiguration {

	@Bean
	static DynamoDbRequests dynamoDbRequests() {
		return new DynamoDbRequests();
	}

	@Bean
	static DynamoDbClient dynamoDbClient(@Value("${benchmark.dynamodb-endpoint}") URI endpoint,
			DynamoDbRequests requests) {
		return DynamoDbClient.builder()
			.endpointOverride(endpoint)
			.region(Region.US_EAST_1)
			.credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("test", "test")))
			.overrideConfiguration((configuration) -> configuration.addExecutionInterceptor(requests))
			.build();
	}

}
