/**
 * Changes of classes without which the scheduler cannot run them.
 */
package dev.idempotency.schedules.prepare;
