/**
 * A storm of small applications that contain every pair of abilities.
 */
package dev.idempotency.storm.pairs;
