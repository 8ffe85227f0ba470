/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.net.URI;

import org.testcontainers.DockerClientFactory;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.DynamoDbClientBuilder;

/**
 * A DynamoDB Local server that can be killed and started again at the same address with
 * what it had written, and be frozen.
 */
public interface DynamoDbServer {

	String IMAGE = "amazon/dynamodb-local:2.6.1";

	/**
	 * Start a server: in a container where Docker answers, from the classes on Maven
	 * Central elsewhere. The system property {@code test.servers}, {@code docker} or
	 * {@code embedded}, decides otherwise.
	 * @return the server
	 */
	static DynamoDbServer create() {
		String servers = System.getProperty("test.servers", "auto");
		boolean docker = servers.equals("docker")
				|| (servers.equals("auto") && DockerClientFactory.instance().isDockerAvailable());
		return docker ? new ContainerDynamoDbServer() : new DynamoDbProcess();
	}

	URI endpoint();

	/**
	 * Create a builder of clients for the server.
	 * @return the builder
	 */
	default DynamoDbClientBuilder client() {
		return client(endpoint());
	}

	static DynamoDbClientBuilder client(URI endpoint) {
		return DynamoDbClient.builder()
			.endpointOverride(endpoint)
			.region(Region.US_EAST_1)
			.credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("test", "test")));
	}

	/**
	 * Kill the server.
	 */
	void stop();

	void start();

	/**
	 * Freeze the server with its connections open.
	 */
	void freeze();

	void resume();

}
