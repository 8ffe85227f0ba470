/**
 * Applications of the kinds that are published as examples of Spring Kafka, with and
 * without the library.
 */
package dev.idempotency.applications;
