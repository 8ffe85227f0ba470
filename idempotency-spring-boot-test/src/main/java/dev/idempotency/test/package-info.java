/**
 * Tools for the tests of applications with idempotent listeners: a test slice, repeated
 * deliveries, assertions about their outcomes, and faults of the store.
 */
@NullMarked
package dev.idempotency.test;

import org.jspecify.annotations.NullMarked;
