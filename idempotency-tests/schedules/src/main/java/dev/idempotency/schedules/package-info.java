/**
 * Schedules of the engine's threads that a seed decides.
 */
package dev.idempotency.schedules;
