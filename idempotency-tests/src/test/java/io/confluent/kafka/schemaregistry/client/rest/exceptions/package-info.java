/**
 * What the tests need of a schema registry's client.
 */
package io.confluent.kafka.schemaregistry.client.rest.exceptions;
